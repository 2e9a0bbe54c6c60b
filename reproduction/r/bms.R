# Rscript bms.R FILE: inclusion probabilities by 60,000 steps of bms for each table of the file, and
# largest differences to those of all models; a line has the seconds of processor time, then these.
suppressMessages(library(BMS))
file <- file(commandArgs(TRUE)[1], "rb")
quietly <- function(call) { sink(nullfile()); on.exit(sink()); call }
inclusion <- function(fit) coef(fit, order.by.pip = FALSE, exact = FALSE)[, "PIP"]
number <- 0
while (length(shape <- readBin(file, "double", 2))) {
  X <- matrix(readBin(file, "double", shape[1] * shape[2]), shape[1], shape[2])
  data <- cbind(readBin(file, "double", shape[1]), X)
  set.seed(number <- number + 1)
  took <- system.time(quietly(sampled <- bms(
    data, burn = 10000, iter = 60000, g = "UIP", mprior = "random", user.int = FALSE)))
  quietly(every <- bms(data, mcmc = "enumerate", g = "UIP", mprior = "random", user.int = FALSE))
  cat(sum(took[1:2]), max(abs(inclusion(sampled) - inclusion(every))), "\n")
}
