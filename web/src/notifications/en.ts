// The texts of notifications.

export const words = {
  title: "Notifications",
  label: "Notify me when an answer is complete or waits for me",
  note: "Only while this page is in the background.",
  blocked: "Your browser blocks notifications from this site. Allow them in its settings, then try again.",
  body: {
    ended: "The answer is complete.",
    waits: "The answer waits for you.",
    failed: "The answer failed.",
  },
};
