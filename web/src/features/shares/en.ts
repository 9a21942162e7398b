// The words of share links that the page needs before their panel.

export const words = {
  title: "Share",
};
