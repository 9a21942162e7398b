// The chunk that draws sessions and their calls.

export { cardOf } from "./cards";
export { Chip } from "./Chip";
export { Docked } from "./Docked";
export { textOf } from "./export";
export { holds, waiting, without } from "./open";
export { questionOf } from "./question";
