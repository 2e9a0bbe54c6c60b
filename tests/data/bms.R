# Writes two tables into reproduction/data, and R's BMS on them into tests/data, where it is run:
# LC_ALL=C.UTF-8 Rscript bms.R
#
# uscrime: all columns but So in logarithms, as is usual (Raftery, Madigan and Hoeting 1997).
suppressMessages(library(BMS))

crime <- MASS::UScrime
crime[names(crime) != "So"] <- log(crime[names(crime) != "So"])
hald <- data.frame(
  x1 = c(7, 1, 11, 11, 7, 11, 3, 1, 2, 21, 1, 11, 10),
  x2 = c(26, 29, 56, 31, 52, 55, 71, 31, 54, 47, 40, 66, 68),
  x3 = c(6, 15, 8, 8, 6, 9, 17, 22, 18, 4, 23, 9, 8),
  x4 = c(60, 52, 20, 47, 33, 22, 6, 44, 22, 26, 34, 12, 12),
  y = c(78.5, 74.3, 104.3, 87.6, 95.9, 109.2, 102.7, 72.5, 93.1, 115.9, 83.8, 113.3, 109.4)
)
tables <- list(uscrime = crime, hald = hald)  # targets are last

for (name in names(tables)) {
  data <- tables[[name]]
  path <- file.path("..", "..", "reproduction", "data", paste0(name, ".csv"))
  write.csv(format(data, digits = 15, trim = TRUE), path, row.names = FALSE, quote = FALSE)
  data <- data[c(ncol(data), seq_len(ncol(data) - 1))]  # bms wants the target first
  sink(nullfile())
  fits <- lapply(c(fixed = "fixed", random = "random"), function(prior) {
    columns <- ncol(data) - 1
    bms(data, mcmc = "enumerate", nmodel = 2^columns, g = "UIP", mprior = prior,
        mprior.size = columns / 2, user.int = FALSE)
  })
  sink()
  found <- sapply(fits, function(fit) coef(fit, order.by.pip = FALSE, exact = TRUE)[, "PIP"])
  write.csv(signif(found, 12), paste0(name, "_bms.csv"), quote = FALSE)
}
