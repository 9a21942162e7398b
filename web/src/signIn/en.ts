// The words of the sign-in screen. They come with it.

export const words = {
  title: "Sign in",
  windowTitle: "Sign in · Espalier",
  ended: "Your session has ended. Sign in again to continue. Your draft is kept.",
  needed: "This service needs an API key. Its operator can give you one.",
  key: "API key",
  blank: "Enter an API key.",
  wrong: "This API key is not valid. It may be mistyped, revoked or expired.",
  submit: "Sign in",
  busy: "Signing in…",
  or: "Or use an API key.",
  choose: "Choose how to sign in.",
};
