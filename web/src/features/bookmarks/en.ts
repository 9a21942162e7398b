// The words of bookmarks that the page needs before their panel.

export const words = {
  title: "Bookmarks",
};
