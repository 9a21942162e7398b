/** Has the browser save a file. */
export function saveBlob(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser has taken it by the next task.
  setTimeout(() => URL.revokeObjectURL(url), 0);
}
