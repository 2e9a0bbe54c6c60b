# Writes the tables and what R makes of them, into the working directory:
# LC_ALL=C.UTF-8 Rscript make.R

tables <- list(
  mtcars = list(mtcars, "mpg"),
  swiss = list(swiss, "Fertility"),
  airquality = list(na.omit(airquality), "Ozone"),
  attitude = list(attitude, "rating"),
  stackloss = list(stackloss, "stack.loss"),
  longley = list(longley, "Employed"),
  state = list(as.data.frame(state.x77), "Life Exp"),
  odd = list(longley, "Employed")  # names that R must quote or break lines at, and small numbers
)
odd_names <- c("if", "gr\u00f6\u00dfe m", "x\u00b2", "back\\slash", "a`b",
               paste0("long", strrep("_and_longer", 5)), "the target")

term <- function(name) paste(deparse(as.name(name), backtick = TRUE), collapse = "")

model <- function(target, terms, intercept) {
  right <- paste(c(if (length(terms)) sapply(terms, term) else "1"), collapse = " + ")
  as.formula(paste(term(target), "~", right, if (!intercept) "- 1"))
}

section <- function(data, target, start, direction, criterion, intercept = TRUE, weights = "") {
  rows <- if (weights == "") seq_len(nrow(data)) else rep(seq_len(nrow(data)), data[[weights]])
  d <<- data[rows, ]  # step() looks for it here
  upper <- model(target, setdiff(names(data), target), intercept)
  first <- if (start == "full") upper else model(target, NULL, intercept)
  k <- if (criterion == "aic") 2 else log(nrow(d))
  cat("=== start", start, "direction", direction, "criterion", criterion)
  cat(" intercept", if (intercept) "yes" else "no", "weights", if (weights == "") "none" else weights)
  cat("\n")
  fit <- step(eval(bquote(lm(.(first), d))), scope = upper, direction = direction, k = k)
  cat("--- coefficient and standard error\n")
  table <- coef(summary(fit))
  for (i in seq_len(nrow(table))) {
    cat(sprintf("%.17g %.17g %s\n", table[i, 1], table[i, 2], rownames(table)[i]))
  }
  cat(sprintf("--- aic, bic, log likelihood, adjusted R2\n%.17g %.17g %.17g %.17g\n",
              AIC(fit), BIC(fit), logLik(fit), summary(fit)$adj.r.squared))
}

for (name in names(tables)) {
  data <- tables[[name]][[1]]
  target <- tables[[name]][[2]]
  data <- data[, c(setdiff(names(data), target), target)]
  if (name == "odd") {
    names(data) <- odd_names
    target <- "the target"
    data[[target]] <- data[[target]] * 1e-7
  }
  write.csv(data, paste0(name, ".csv"), row.names = FALSE, quote = FALSE)
  data <- read.csv(paste0(name, ".csv"), check.names = FALSE)
  sink(paste0(name, "_step.txt"))
  for (criterion in c("aic", "bic")) {
    section(data, target, "full", "both", criterion)
    section(data, target, "empty", "both", criterion)
    section(data, target, "full", "backward", criterion)
    section(data, target, "empty", "forward", criterion)
  }
  if (name %in% c("mtcars", "stackloss")) {
    section(data, target, "full", "both", "aic", intercept = FALSE)
    section(data, target, "empty", "both", "aic", intercept = FALSE)
  }
  if (name == "mtcars") {
    section(data, target, "full", "both", "aic", weights = "carb")
    section(data, target, "empty", "both", "bic", weights = "carb")
  }
  sink()
}
