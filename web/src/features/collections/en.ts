// The words of collections that the page needs before their panel.

export const words = {
  title: "Collections",
  choose: "Collections",
  chosen: "Collections that are searched",
  unchoose: "Do not search it",
  unchoosePart: (name: string) => `Do not search ${name}`,
  passages: "Passages found",
  found: "Found",
  foundIn: "Found in",
  part: (n: number, heading: string) => `part ${n}${heading && ` · ${heading}`}`,
};
