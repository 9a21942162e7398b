// The words of custom instructions. They come with the form.

export const words = {
  title: "Custom instructions",
  open: "How should Espalier answer you?",
  openOfProject: "How should Espalier answer about this project?",
  note: "Each new message begins with them, in all your chats. A chat that is open may need a minute.",
  noteOfProject: "Each new message about this project begins with them. A chat that is open may need a minute.",
  text: "Your instructions",
  example: "For example: Answer briefly. I am a nurse. Use metric units.",
  save: "Save",
  saved: "Saved.",
  tooLong: (bytes: number, most: number) => `This is too long: ${bytes} of ${most} bytes.`,
};
