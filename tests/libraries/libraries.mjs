// The conversation, and what each library makes of it.

export const INSTRUCTIONS = "You are a pirate.";
export const ANSWERS = {
  plain: "Hello.", streamed: "One two three.", tool: "Booked.", second: "Still booked.", streamedCalls: "Booked twice.",
};
/** The answer of a form. */
export const FORM = { city: "Oslo", days: 2 };
/** The arguments with which the model calls the tool. */
export const ARGUMENTS = { to: "ann@example.com", note: null, kind: "train", stop: ["Oslo", 2] };
/** The members of the tool's schema. */
export const OFFERED = ["kind", "note", "remark", "seats", "stop", "to"];

/** The words of our refusals. */
const NO_KEY = "expected Authorization: Bearer with an API key or a token";
const TOO_LONG = "instructions have at most 20000 bytes";

/**
 * A library: its program, the `arguments` of the model's call that are its own, those that its tool gets then, its
 * errors for 401 and 400, the member in which it gives instructions, the calls with which the model gives an answer of a
 * form (`structured`) and that of an agent (`agent`), whether it leaves the pattern of an e-mail address in the schema, and
 * the `parts` of the conversation that it plays, where it does not play all.
 */
const library = ({ command, arguments: given = {}, received, errors, status = true, instructions, structured, agent, hasPattern = true, parts }) => {
  const [unauthorized, rejected] = errors;
  const refused = (error, code, message) => ({ error, status: status ? code : null, message });
  const named = (member, words) => (member ? `${member}: ${words}` : words);
  const call = { ...ARGUMENTS, ...given, ...received };
  const report = {
    plain: ANSWERS.plain,
    streamed: ANSWERS.streamed,
    tool: { text: ANSWERS.tool, calls: [call] },
    second: ANSWERS.second,
    streamedCalls: { text: ANSWERS.streamedCalls, calls: [call, call] },
    unauthorized: refused(unauthorized, 401, NO_KEY),
    tooLong: refused(rejected, 400, named(instructions, TOO_LONG)),
  };
  const forms = Object.fromEntries(Object.entries({ structured, structuredAgent: agent }).filter(([, call]) => call));
  for (const part of Object.keys(forms)) report[part] = FORM;
  if (parts) for (const part of Object.keys(report)) if (!parts.includes(part)) delete report[part];
  return { command, arguments: given, report, hasPattern, forms, isInstructed: !parts?.every((part) => part === "plain") };
};

const node = (...words) => ["node", ...words];
const python = (...words) => ["../../.tools/libraries/bin/python", ...words];
/** OpenAI's strict schemas let nothing be absent. */
const STRICT = { remark: null, seats: 2 };
/** What the library fills in. */
const SEATS = { seats: 1 };

const OPENAI = { errors: ["AuthenticationError", "BadRequestError"] };
const AI = { errors: ["APICallError", "APICallError"], received: SEATS };
// Where a strict schema demands a value and the tool does not, it takes null out again.
const AGENTS = { ...OPENAI, arguments: STRICT, received: { remark: undefined }, hasPattern: false };
// Its schema demands what has a default.
const LANGCHAIN = { ...OPENAI, arguments: { seats: 2 } };
const LANGCHAIN_PYTHON = {
  errors: ["OpenAIAuthenticationError", "OpenAIInvalidRequestError"], received: { ...SEATS, remark: null },
  // Its agent makes a tool of the form, and forces its call.
  agent: "ui__answer", hasPattern: false,
};
const PYDANTIC = {
  errors: ["ModelAuthenticationError", "ModelRequestRejectedError"], received: { ...SEATS, remark: null },
  // So does this one.
  structured: "ui_final__result",
};
const CHAT = { instructions: "messages", structured: "give_answer" };
const RESPONSES = { instructions: "instructions", structured: "give_answer" };

export const LIBRARIES = {
  "openai-chat": library({ ...OPENAI, ...CHAT, command: node("openai.mjs", "chat"), arguments: STRICT }),
  "openai-responses": library({ ...OPENAI, ...RESPONSES, command: node("openai.mjs", "responses"), arguments: STRICT }),
  "ai-compatible": library({ ...AI, ...CHAT, command: node("ai_core.mjs", "compatible") }),
  "ai-openai-chat": library({ ...AI, ...CHAT, command: node("ai_core.mjs", "chat") }),
  "ai-openai-responses": library({
    ...AI, ...RESPONSES, instructions: "input", command: node("ai_core.mjs", "responses"),
  }),
  "ai-react": library({ ...AI, command: node("ai_react.mjs") }),
  "assistant-ui": library({
    ...AI, errors: ["AI_APICallError", "AI_APICallError"], status: false, command: node("assistant_ui.mjs"),
  }),
  "openai-agents-responses": library({ ...AGENTS, ...RESPONSES, command: node("openai_agents.mjs", "responses") }),
  "openai-agents-chat": library({ ...AGENTS, ...CHAT, command: node("openai_agents.mjs", "chat") }),
  "langchain-chat": library({ ...LANGCHAIN, ...CHAT, command: node("langchain.mjs", "chat"), agent: "ui_extract_2d1" }),
  "langchain-responses": library({ ...LANGCHAIN, ...RESPONSES, instructions: "input", command: node("langchain.mjs", "responses") }),
  "openai-python": library({ ...OPENAI, ...CHAT, command: python("openai_python.py"), arguments: STRICT }),
  "langchain-python-chat": library({ ...LANGCHAIN_PYTHON, ...CHAT, command: python("langchain_python.py", "chat") }),
  "langchain-python-responses": library({
    ...LANGCHAIN_PYTHON, ...RESPONSES, instructions: "input", command: python("langchain_python.py", "responses"),
  }),
  "pydantic-ai-chat": library({ ...CHAT, ...PYDANTIC, command: python("pydantic_ai_python.py", "chat") }),
  "litellm": library({
    ...CHAT, errors: ["AuthenticationError", "BadRequestError"], command: python("litellm_python.py"),
    parts: ["plain", "streamed", "structured", "unauthorized", "tooLong"],
  }),
  "openapi-fetch": library({
    errors: ["A credential is needed", ""], command: node("openapi_fetch.mjs"), parts: ["plain", "streamed", "unauthorized"],
  }),
  "openapi-python-client": library({
    errors: ["Problem", ""], command: python("openapi_python.py"), parts: ["plain", "streamed", "unauthorized"],
  }),
  "mcp-python": library({ errors: ["", ""], command: python("mcp_python.py", "mcp"), parts: ["plain"] }),
  "fastmcp": library({ errors: ["", ""], command: python("mcp_python.py", "fastmcp"), parts: ["plain"] }),
  "pydantic-ai-responses": library({ ...RESPONSES, ...PYDANTIC, command: python("pydantic_ai_python.py", "responses") }),
};
