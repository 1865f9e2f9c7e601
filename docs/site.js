// Parts that the theme adds later: a table that scrolls gets the focus, and each code block has its own name.
new MutationObserver(() => {
  for (const part of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) part.tabIndex = 0;
  document.querySelectorAll(".md-code__nav").forEach((part, number) => {
    if (!part.ariaLabel) part.ariaLabel = `Code ${number + 1}`;
  });
}).observe(document, { childList: true, subtree: true });
