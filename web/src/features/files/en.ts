// The words of files that the page needs before their panel.

export const words = {
  title: "Files",
};
