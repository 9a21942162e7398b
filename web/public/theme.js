// Runs before the first drawing: a dark page must not flash white, and a chat's address must not flash the first screen.
// It is a file because the policy forbids inline code.
try {
  const theme = localStorage.getItem("espalier.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // The browser forbids storage: the system's theme applies.
}
if (/[?&]thread=/.test(location.search)) document.documentElement.dataset.opening = "";
