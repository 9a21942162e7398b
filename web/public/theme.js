// Before the first drawing, so that a dark page never flashes white, and a chat's address never the first screen.
// A file of its own: the policy allows no inline code.
try {
  const theme = localStorage.getItem("espalier.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage is forbidden: the system's theme it is.
}
if (/[?&]thread=/.test(location.search)) document.documentElement.dataset.opening = "";
