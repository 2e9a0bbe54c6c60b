# Rscript susie.R FILE: credible sets of susie for each table of the file; a line has the seconds of
# processor time, and each set as columns with commas between them, counted from 1.
suppressMessages(library(susieR))
file <- file(commandArgs(TRUE)[1], "rb")
while (length(shape <- readBin(file, "double", 2))) {
  X <- matrix(readBin(file, "double", shape[1] * shape[2]), shape[1], shape[2])
  y <- readBin(file, "double", shape[1])
  took <- system.time(fit <- suppressWarnings(susie(X, y, L = 10)))
  cat(sum(took[1:2]), sapply(fit$sets$cs, paste, collapse = ","), "\n")
}
