// The words of the card of the router.

export const words = {
  complexities: { simple: "Simple task", complex: "Complex task: planned first" } as Readonly<Record<string, string>>,
  running: "Choosing how to work",
  unknown: "Chose how to work",
  noReason: "The service gave no reason.",
};
