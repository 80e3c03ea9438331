// Sets the theme before the first paint. The choice is kept in this browser.
(() => {
  const root = document.documentElement;
  let chosen = null;
  try { chosen = localStorage.getItem("inorder-theme"); } catch { /* storage is disabled */ }
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
})();
