// Made from durable/wire/src/protocol by `make types`: change it there.

/**
 * A chat message with the options of the client. The service ignores unknown members. Older clients send `tools` and
 * `agent_mode`, which have no effect.
 */
export type ChatRequest = { 
/**
 * The user's message. A request that continues a turn has none.
 */
content?: Content, 
/**
 * The newest turn of the thread, which ended for a limit: the new turn goes on from its history with a budget of its
 * own.
 */
continue?: string, thread_id?: string, turn_id?: string, request_seq?: number, 
/**
 * How the request meets a turn that has not ended. Without it the request is refused, or stops that turn if it has a
 * `request_seq`.
 */
if_running?: IfRunning, chat_context?: ChatContext, 
/**
 * Asks for a router or a swarm. Without it a turn runs the plain loop.
 */
mode_profile?: ModeProfile, browser_context?: BrowserContext, cancel_on_disconnect?: boolean, model?: string, memory_enabled?: boolean, collections?: Array<string>, 
/**
 * `workflow`: the turn works on a session of the workflow `workflow_id`, whatever else the request asks for. Other
 * values have no effect.
 */
workflow_target?: string, workflow_id?: string, 
/**
 * The service makes no media: another `mode` than `chat` is refused. The other members have no effect.
 */
media_generation?: Record<string, unknown>, client_tools?: Array<ClientTool>, 
/**
 * Whether calls of these tools in one reply are asked at once. Without it, and in the editor, they are asked one at a
 * time.
 */
client_tools_at_once?: boolean, 
/**
 * A JSON Schema of type object. The answer is then JSON that satisfies it, as text, and comes once it does.
 */
response_schema?: Record<string, unknown>, 
/**
 * The client's tools of which the model must call one before it answers.
 */
must_call?: Array<string>, 
/**
 * Instructions of the client for this turn, below those of the service. At most 20,000 bytes of UTF-8. A blank text is
 * none.
 */
instructions?: string, 
/**
 * The user's time zone, a name of the IANA time zone database: the model gets the time there beside UTC. An unknown
 * name is refused.
 */
time_zone?: string, include?: Array<string>, replaces_message_id?: string, 
/**
 * The named workspace that the turn uses instead of the thread's own.
 */
workspace?: string, 
/**
 * Asks for agents that stay: the model may make them, and those of earlier turns are there again.
 */
agents?: boolean, 
/**
 * The agent that answers in place of `main`, which does not hear it, or `hook:NAME`. It asks for agents as well.
 */
agent?: string, };

/**
 * The user's message: plain text, or parts.
 */
export type Content = string | Array<ContentPart>;

/**
 * One part of a message.
 */
export type ContentPart = { "type": "text", text: string, } | { "type": "image", data: DataUrl, } | { "type": "file", name: string, data: DataUrl, };

/**
 * `data:MEDIA_TYPE;base64,DATA`.
 */
export type DataUrl = string;

/**
 * The context of the chat. It decides the toolbelt and the profile.
 */
export type ChatContext = { kind: ContextKind, context_type?: string, workflow_id?: string, entity_id?: string, };

/**
 * The kinds of chat context; `thread` by default.
 */
export type ContextKind = "thread" | "editor";

/**
 * The mode that a request chooses for its turn.
 */
export type ModeProfile = "auto_route" | "swarm";

/**
 * How a chat request meets a turn that has not ended.
 */
export type IfRunning = "queue" | "supersede";

/**
 * A message that waits for its turn.
 */
export type QueuedMessage = { 
/**
 * The `turn_id` of its request. Its turn will have this id.
 */
id: string, 
/**
 * The words of the message.
 */
content: string, 
/**
 * Its images and files, each as a label such as `[image/png, 34 kB]`.
 */
attachments: Array<string>, created_at: number, 
/**
 * Why its turn was refused. The queue holds since then.
 */
failure?: StopNote, };

/**
 * The messages that wait in a thread, in their order.
 */
export type MessageQueue = { 
/**
 * The messages wait until a person lets the queue go on.
 */
held: boolean, messages: Array<QueuedMessage>, };

/**
 * A queued message as an event tells it.
 */
export type QueuedPreview = { id: string, 
/**
 * The beginning of its words, at most 500 characters.
 */
preview: string, };

/**
 * The body of `PATCH /api/threads/{id}/queue`.
 */
export type QueueChange = { 
/**
 * False lets the queue go on.
 */
held: boolean, };

/**
 * The body of `PATCH /api/threads/{id}/queue/{message}`.
 */
export type QueuedChange = { 
/**
 * The new words. The images and files of the message stay.
 */
content: string, };

/**
 * The browser tab that the user has open beside the chat.
 */
export type BrowserContext = { active_tab_url?: string, active_tab_title?: string, tab_count?: number, };

/**
 * A tool that the client carries out. Its calls wait for the client's result. The toolbelt checks the declaration.
 */
export type ClientTool = { name: string, 
/**
 * The client's own name for the tool, where `name` is a shortened form of it.
 */
client_name?: string | null, description: string, 
/**
 * A JSON Schema of any draft, or of OpenAPI 3.0. It is of type object, and so is one without a type, null or none.
 */
input_schema: Record<string, unknown>, };

/**
 * The body of `POST …/tool_results`.
 */
export type ToolResult = { tool_call_id: string, 
/**
 * The model gets a text unchanged, and any other value as JSON.
 */
result: unknown, is_error?: boolean, };

/**
 * The body of `POST …/approvals/{id}`.
 */
export type Approval = { decision: Decision, 
/**
 * The answer to a form, by the ids of its questions. Any other decision ignores it.
 */
content: Record<string, unknown> | null, 
/**
 * Why the call is denied, for the model: at most 2 000 bytes of UTF-8. Only with `deny`, and only for a call.
 */
reason: string | null, };

/**
 * The body of `PATCH /api/threads/{id}`.
 */
export type ThreadChange = { 
/**
 * One line of 1 to 200 characters.
 */
title?: string, 
/**
 * A turn of the thread. The conversation goes through it, and on to the newest turn below it.
 */
current_turn_id?: string, 
/**
 * Pins the thread above the others in the list, or takes the pin away.
 */
pinned?: boolean, };

/**
 * An event with its number and its turn: one `data:` object of the stream.
 */
export type Numbered = { 
/**
 * Repeated in the `id:` line.
 */
seq: number, 
/**
 * The turn that caused the event.
 */
turn_id: string, } & ({ "type": "session", thread_id: string, user_message_id: string, assistant_message_id: string, provider?: string, model?: string, 
/**
 * The limits of the turn. Turns from earlier versions of the service have none.
 */
limits?: TurnLimits | null, 
/**
 * A message of the turn beside which this turn stands. The conversation goes on from the turn before that one.
 */
replaces_message_id?: string | null, 
/**
 * The client's own names for those of its tools whose names are shortened here, by the shortened name.
 */
client_names?: { [key in string]: string }, 
/**
 * `truncated`: the service has deleted the turn's events, and this event stands for all of them.
 */
resumed?: string | null, 
/**
 * The turn's messages, if the service has deleted its events.
 */
messages?: Array<StoredMessage>, } | { "type": "agent_state", state: AgentState, context_type: string, details?: string | null, } | { "type": "model_call_update", model_call_id: string, status: CallStatus, model: string, 
/**
 * The agent that asks the model; absent for `main` and for levels that are no agents.
 */
agent?: string | null, 
/**
 * The turn's running time when the call started, in milliseconds. The end of a call that was repeated tells the
 * start of the repetition.
 */
started_ms?: number | null, 
/**
 * At the end: the time from the start to the first word of the answer, and to the end, in milliseconds.
 */
first_byte_ms?: number | null, duration_ms?: number | null, usage?: Usage | null, 
/**
 * At the end, if the usage and the price are known.
 */
cost_usd?: number | null, finish_reason?: string | null, 
/**
 * The `tool_call_id` of the nearest enclosing `run_subtask`, or null at the root.
 */
parent_id: string | null, 
/**
 * 0 at the root.
 */
depth: number, } | { "type": "chunk", content: string, part_id: string, model_call_id: string, 
/**
 * True on the last chunk of a part, which may be empty.
 */
done?: boolean, kind?: ChunkKind, 
/**
 * The `tool_call_id` of the nearest enclosing `run_subtask`, or null at the root.
 */
parent_id: string | null, 
/**
 * 0 at the root.
 */
depth: number, } | { "type": "tool_call_update", tool_call_id: string, name: string, status: CallStatus, 
/**
 * At the start: the turn's running time when the call started, in milliseconds.
 */
started_ms?: number | null, args?: Record<string, unknown> | null, result?: string | null, is_error?: boolean, duration_ms?: number | null, 
/**
 * At the end of a `run_subtask`: the usage of its model calls, including those of its own subtasks.
 */
usage?: ModelCost | null, 
/**
 * At the end of a call that needed a person's permission.
 */
decision?: Decision | null, 
/**
 * At the end of a call that costs money beside the turn's models: its cost, absent if that is unknown.
 */
cost_usd?: number | null, 
/**
 * At the end: the documents that the result comes from, each once; at most 20.
 */
sources?: Array<Source>, 
/**
 * At the start of a call that the client carries out. `expires_at` is its deadline (milliseconds since 1970).
 */
awaits?: Awaited | null, expires_at?: number | null, 
/**
 * The `tool_call_id` of the nearest enclosing `run_subtask`, or null at the root.
 */
parent_id: string | null, 
/**
 * 0 at the root.
 */
depth: number, } | { "type": "approval_request", approval_id: string, tool_call_id: string, name: string, args: Record<string, unknown>, 
/**
 * The permission class of the tool, such as `network`.
 */
permission_class: string, 
/**
 * Whether the call changes nothing. A reading tool may have a class with writing tools.
 */
read_only?: boolean, 
/**
 * Whether the client carries the call out.
 */
by_client?: boolean, 
/**
 * The input that the call needs. `approve` answers it with a `content`.
 */
form?: Form | null, expires_at: number, 
/**
 * The `tool_call_id` of the nearest enclosing `run_subtask`, or null at the root.
 */
parent_id: string | null, 
/**
 * 0 at the root.
 */
depth: number, } | { "type": "approval_resolved", approval_id: string, tool_call_id: string, decision: Decision, 
/**
 * The `tool_call_id` of the nearest enclosing `run_subtask`, or null at the root.
 */
parent_id: string | null, 
/**
 * 0 at the root.
 */
depth: number, } | { "type": "limit_request", approval_id: string, reason: BudgetReason, limit: number, observed: number, raised_to: number, grants_left: number, usage: CostSummary, expires_at: number, 
/**
 * The `tool_call_id` of the nearest enclosing `run_subtask`, or null at the root.
 */
parent_id: string | null, 
/**
 * 0 at the root.
 */
depth: number, } | { "type": "limit_resolved", approval_id: string, decision: Decision, limits: TurnLimits, 
/**
 * The `tool_call_id` of the nearest enclosing `run_subtask`, or null at the root.
 */
parent_id: string | null, 
/**
 * 0 at the root.
 */
depth: number, } | { "type": "model_call_reset", model_call_id: string, reason: string, 
/**
 * The `tool_call_id` of the nearest enclosing `run_subtask`, or null at the root.
 */
parent_id: string | null, 
/**
 * 0 at the root.
 */
depth: number, } | { "type": "hook_update", hook_call_id: string, hook: string, point: HookPoint, status: CallStatus, 
/**
 * At the end. Absent there if the end of its turn or step cut the hook off.
 */
decision?: HookDecision | null, text?: string | null, 
/**
 * The hook gave no verdict. One that may block has blocked the call.
 */
failed?: boolean, 
/**
 * The call that the hook was asked about.
 */
tool_call_id?: string | null, started_ms?: number | null, duration_ms?: number | null, usage?: ModelCost | null, 
/**
 * The `tool_call_id` of the nearest enclosing `run_subtask`, or null at the root.
 */
parent_id: string | null, 
/**
 * 0 at the root.
 */
depth: number, } | { "type": "history_summary", text?: string | null, } | { "type": "agent_update", name: string, parent: string | null, status: AgentStatus, tool_call_id: string, } | { "type": "plan_created", tool_call_id: string, plan: Plan, } | { "type": "plan_ready_for_review", plan: Plan, } | { "type": "plan_review", plan_id: string, verdict: Verdict, notes: string, } | { "type": "executor_start", plan_id: string, steps: number, } | { "type": "step_start", plan_id: string, step_id: string, index: number, title: string, tool_call_id: string, } | { "type": "step_complete", plan_id: string, step_id: string, index: number, status: StepStatus, result: string, } | { "type": "executor_complete", plan_id: string, status: PlanStatus, completed: number, failed: number, skipped: number, } | { "type": "swarmPlanReady", steps: Array<string>, } | { "type": "swarmStepStarted", stepIndex: number, description: string, } | { "type": "swarmToolExecuted", stepIndex: number, tool: string, briefResult: string, } | { "type": "swarmStepCompleted", stepIndex: number, result: string, status: StepStatus, } | { "type": "swarmComplete", result: string, } | { "type": "workflow_update", session_id: string, workflow_id: string, status: SessionStatus, step_id: string | null, index: number, of: number, 
/**
 * `no_advance`, `no_progress`, `repeated_call`, `retry`, `escalated`, `plan_denied`, …
 */
reason?: string | null, } | { "type": "queue_update", held: boolean, messages: Array<QueuedPreview>, } | { "type": "budget_exceeded", reason: BudgetReason, limit: number, 
/**
 * The attempted value. For counters this is the limit plus one.
 */
observed: number, 
/**
 * The work that the limit left undone, as in the stored message's `stop`.
 */
left?: Array<LeftUndone>, } | { "type": "cost_summary" } & CostSummary | { "type": "error", code: string, message: string, retryable: boolean, } | { "type": "path_changed" } | { "type": "done", message_id: string, finish_reason: FinishReason, 
/**
 * The values of `cost_summary`; absent in events of earlier versions.
 */
usage?: CostSummary | null, });

/**
 * The limits of a turn whose use a client can display.
 */
export type TurnLimits = { subtasks: number, llm_calls: number, tool_calls: number, 
/**
 * Running time, in milliseconds.
 */
wall_clock_ms: number, };

/**
 * The three states that a client shows.
 */
export type AgentState = "thinking" | "executing_plan" | "waiting_on_user";

/**
 * The party that a waiting call needs.
 */
export type Awaited = "client" | "approval" | "limit" | "input";

/**
 * The outcome of a request for approval.
 */
export type Decision = "approve" | "approve_for_thread" | "deny" | "expired" | "standing";

/**
 * The input that a call needs. The one who asks is no part of the service, and a person is told its name.
 */
export type Form = { 
/**
 * The MCP server that asks.
 */
server: string, questions: Array<FormQuestion>, };

/**
 * One question of a form.
 */
export type FormQuestion = { 
/**
 * The member of the answer's `content` that answers it.
 */
id: string, message: string, 
/**
 * The JSON Schema of the answer: an object of texts, numbers, booleans and choices.
 */
schema: Record<string, unknown>, 
/**
 * The names of its properties, in the order in which a person sees them. The schema itself is sorted by name.
 */
order: Array<string>, };

/**
 * The verdict of a hook.
 */
export type HookDecision = "allow" | "block" | "comment" | "quit";

/**
 * The moment at which a hook is asked.
 */
export type HookPoint = "input" | "result" | "action" | "answer";

/**
 * The levels that a hook watches.
 */
export type HookReach = "main" | "all";

/**
 * A hook as it is in force: all its members have been checked.
 */
export type Hook = { name: string, on: HookPoint, 
/**
 * The names of the calls that it watches; a name that ends in `*` stands for all that begin so. Empty: every call.
 */
match?: Array<string>, 
/**
 * The rule of a hook that is built in; none where `instructions` say what a model judges by.
 */
builtin?: string | null, 
/**
 * The options of that rule.
 */
options?: Record<string, unknown> | undefined, instructions?: string | null, 
/**
 * The keys of the turn's memory that the model of a hook with instructions reads.
 */
reads?: Array<string>, of: HookReach, 
/**
 * When a hook of a thread was put (milliseconds since 1970): a hook that is put again has a life of its own.
 */
put_at?: number | null, 
/**
 * In a list: the hook has quit, and watches the main agent of this conversation no more. No definition has this member.
 */
has_quit?: boolean, };

/**
 * The body of `PUT /api/threads/{id}/hooks/{name}`: a built-in hook, or the instructions by which a model judges.
 */
export type NewHook = { 
/**
 * When it is asked. A built-in hook knows.
 */
on?: HookPoint, 
/**
 * The names of the calls that it watches; a name that ends in `*` stands for all that begin so. Absent: every call.
 */
match?: Array<string>, 
/**
 * The name of a built-in hook.
 */
builtin?: string, 
/**
 * The options of the built-in hook.
 */
options?: Record<string, unknown> | null, 
/**
 * The words by which a model judges; without `builtin`.
 */
instructions?: string, 
/**
 * The keys of the turn's memory that the model reads; with `instructions`.
 */
reads?: Array<string>, of?: HookReach, };

/**
 * The hooks of a thread.
 */
export type HookList = { 
/**
 * Those of the thread, in the order in which they are asked.
 */
hooks: Array<Hook>, 
/**
 * The operator's, which are asked first and which nobody removes; without their instructions and options.
 */
operators: Array<Hook>, 
/**
 * Those that the main agent of this conversation has made itself.
 */
own: Array<Hook>, };

/**
 * The start or the end of a call.
 */
export type CallStatus = "start" | "end";

/**
 * The kind of a chunk's text.
 */
export type ChunkKind = "text" | "reasoning";

/**
 * The limits whose crossing ends a turn. Depth, iterations and fan-out are not among them.
 */
export type BudgetReason = "subtasks" | "llm_calls" | "tool_calls" | "wall_clock" | "tokens" | "bytes" | "cost";

/**
 * How a turn ended.
 */
export type FinishReason = "stop" | "length" | "content_filter" | "cancelled" | "budget" | "error" | "interrupted";

/**
 * Tokens of one call, as the provider counted them. Where it counted none, an estimate.
 */
export type Usage = { 
/**
 * All input tokens, the cached ones included.
 */
input_tokens: number, cached_tokens: number, 
/**
 * Input tokens that the provider wrote to its cache, if it charges for that.
 */
cache_write_tokens?: number, 
/**
 * Those of them that the provider keeps for an hour.
 */
cache_write_1h_tokens?: number, output_tokens: number, service_tier?: ServiceTier, 
/**
 * How many members of the provider's usage this version does not know. Each may be something that costs money.
 */
unknown_members?: number, 
/**
 * The service estimated a part of these numbers, because the provider did not count it.
 */
estimated?: boolean, };

/**
 * The class of service in which a provider served a request, where that changes the price.
 */
export type ServiceTier = "flex" | "priority" | "standard";

/**
 * The ledger of a turn.
 */
export type CostSummary = { llm_calls: number, tool_calls: number, subtasks: number, input_tokens: number, cached_tokens: number, output_tokens: number, 
/**
 * Null if the price of a used model is unknown.
 */
cost_usd: number | null, by_model: { [key in string]: ModelCost }, 
/**
 * The service estimated a part of these numbers, because a provider did not count it.
 */
estimated?: boolean, 
/**
 * The last request of the conversation, where money is limited, its provider counted it and it left nothing of the
 * conversation out. The next turn reserves by it.
 */
last_request?: CountedRequest, };

/**
 * A request as its provider counted it.
 */
export type CountedRequest = { 
/**
 * The model that answered.
 */
model: string, input_tokens: number, output_tokens: number, };

/**
 * A share of a turn's ledger: one model's, or one subtask's.
 */
export type ModelCost = { llm_calls: number, input_tokens: number, cached_tokens: number, output_tokens: number, cost_usd: number | null, 
/**
 * As in the whole ledger.
 */
estimated?: boolean, };

/**
 * A message of a thread. The optional members stand on assistant messages only.
 */
export type StoredMessage = { id: string, turn_id: string, role: Role, content: string, created_at: number, finish_reason?: FinishReason | null, stop?: StopNote | null, usage?: CostSummary | null, execution_tree?: ExecutionTree | null, 
/**
 * The answer as a reader saw it: text, reasoning and tool calls in order of appearance, those within calls included.
 * `content` has the text of the answer alone. An answer whose only part would be this text has no parts, as have
 * messages stored by earlier versions.
 */
parts?: Array<MessagePart>, };

/**
 * A part of an assistant message. `parent_id` is the `tool_call_id` of the call that contains the part; a part of the
 * answer itself has none. `cut`: the service left out the end of the text, which would not fit into its row.
 */
export type MessagePart = { "type": "text", text: string, parent_id?: string | null, cut?: boolean, } | { "type": "reasoning", text: string, parent_id?: string | null, cut?: boolean, } | { "type": "summary", text?: string | null, } | { "type": "call", tool_call_id: string, parent_id?: string | null, 
/**
 * Its arguments as JSON, where the node has only the beginning of them. At most 4 000 characters: a cut text ends
 * in `…`.
 */
args?: string | null, 
/**
 * Its result, where the node has only the beginning of it. At most 4 000 characters, as the arguments.
 */
result?: string | null, 
/**
 * The sources of its result, which the node has only the beginning of.
 */
sources?: Array<Source>, };

/**
 * A document that an answer may come from.
 */
export type Source = { 
/**
 * Its name, at most 200 characters.
 */
title: string, };

/**
 * The author of a message.
 */
export type Role = "user" | "assistant";

/**
 * Why the service stopped a turn, for a person to read.
 */
export type StopNote = { 
/**
 * The `code` of the turn's `error` event.
 */
code: string, message: string, 
/**
 * The limit that ended the turn. Turns that a limit ended in an earlier version of the service have none.
 */
budget?: ReachedLimit | null, 
/**
 * The work that the limit left undone, in the order in which the turn took it up; at most 20 pieces.
 */
left?: Array<LeftUndone>, };

/**
 * A limit that a turn reached, in the words of the event `budget_exceeded`.
 */
export type ReachedLimit = { reason: BudgetReason, limit: number, observed: number, };

/**
 * A piece of work that a limit kept a turn from finishing: a tool call, a subtask, a step of a plan.
 */
export type LeftUndone = { 
/**
 * The name of the tool; absent for a step of a plan that had not begun.
 */
name?: string | null, 
/**
 * The label of a subtask or a step.
 */
title?: string | null, 
/**
 * Whether it had begun.
 */
begun?: boolean, };

/**
 * A flat list of nodes in the order in which the calls started; `parent_id` gives the nesting.
 */
export type ExecutionTree = { 
/**
 * Always 1.
 */
version: number, nodes: Array<TreeNode>, 
/**
 * How many of the last nodes the service left out, because the tree exceeded the limit of its row.
 */
omitted?: number | null, 
/**
 * The plans that the turn made, carried out or changed, in their state at its end. Each step that began is a node.
 */
plans?: Array<Plan>, 
/**
 * The turn's model calls in the order in which they ended. Trees stored by earlier versions have none.
 */
model_calls?: Array<TreeModelCall>, 
/**
 * The custom instructions that the turn began with, the user's before the project's.
 */
instructions?: Array<TreeInstructions>, 
/**
 * The instructions that the client gave for the turn.
 */
client_instructions?: ClientInstructions, };

/**
 * The part of a node of the execution tree that only hooks have.
 */
export type TreeHook = { point: HookPoint, 
/**
 * Absent if the end of its turn or step cut the hook off.
 */
decision?: HookDecision | null, 
/**
 * The hook gave no verdict: it was lost, late, or not understood.
 */
failed?: boolean, 
/**
 * The call that the hook was asked about.
 */
tool_call_id?: string | null, };

/**
 * Custom instructions as clients read them.
 */
export type Instructions = { 
/**
 * Empty where there are none.
 */
content: string, 
/**
 * The time of the last change, in milliseconds since 1970. Null where there are none.
 */
updated_at: number | null, };

/**
 * The conversations that custom instructions are for.
 */
export type InstructionsOf = "user" | "project";

/**
 * The body of `PUT …/instructions`.
 */
export type NewInstructions = { 
/**
 * At most 20,000 bytes of UTF-8. A blank text deletes the instructions.
 */
content: string, };

/**
 * Custom instructions that a turn began with.
 */
export type TreeInstructions = { of: InstructionsOf, 
/**
 * At most 500 characters.
 */
content_preview: string, 
/**
 * The length of the whole text, in bytes.
 */
bytes: number, };

/**
 * The instructions that the client of a turn gave with its request.
 */
export type ClientInstructions = { 
/**
 * At most 500 characters.
 */
content_preview: string, 
/**
 * The length of the whole text, in bytes.
 */
bytes: number, };

/**
 * A bookmarked message.
 */
export type Bookmark = { 
/**
 * The message's id, which names the bookmark.
 */
message_id: string, thread_id: string, turn_id: string, role: Role, 
/**
 * The beginning of the message, of at most 200 characters.
 */
excerpt: string, 
/**
 * When the user made it.
 */
created_at: number, };

/**
 * The answer to `GET /api/bookmarks`.
 */
export type BookmarkList = { bookmarks: Array<Bookmark>, 
/**
 * Null on the last page.
 */
next_cursor: string | null, };

/**
 * The body of `POST /api/threads/{id}/shares`. The snapshot has no more than is chosen.
 */
export type NewShare = { 
/**
 * The message with which the snapshot ends, of any version. Absent: the end of the conversation as it is now.
 */
message_id?: string, 
/**
 * Whether the snapshot has the answers' tool calls, with their arguments and results.
 */
tools?: boolean, 
/**
 * Whether it has the models' reasoning.
 */
reasoning?: boolean, 
/**
 * Whether it has the images and files of the user's messages.
 */
files?: boolean, 
/**
 * After how many days the link ends by itself. Absent: it ends when it is revoked.
 */
expires_in_days?: number, };

/**
 * A share link, as its owner sees it.
 */
export type ShareSummary = { id: string, thread_id: string, 
/**
 * The thread's title at that time.
 */
title: string, created_at: number, 
/**
 * Null where it ends when it is revoked.
 */
expires_at: number | null, tools: boolean, reasoning: boolean, files: boolean, 
/**
 * How many messages the snapshot has.
 */
messages: number, bytes: number, };

/**
 * The user's share links, newest first.
 */
export type ShareList = { shares: Array<ShareSummary>, };

/**
 * A new share link.
 */
export type CreatedShare = { 
/**
 * 128 random bits. Only this answer has them.
 */
token: string, 
/**
 * The path of the public page.
 */
path: string, id: string, thread_id: string, 
/**
 * The thread's title at that time.
 */
title: string, created_at: number, 
/**
 * Null where it ends when it is revoked.
 */
expires_at: number | null, tools: boolean, reasoning: boolean, files: boolean, 
/**
 * How many messages the snapshot has.
 */
messages: number, bytes: number, };

/**
 * A conversation, as everybody who has the link reads it.
 */
export type SharedConversation = { title: string, 
/**
 * The time of the snapshot, in milliseconds since 1970.
 */
shared_at: number, messages: Array<SharedMessage>, };

/**
 * A message of a shared conversation. It has no id.
 */
export type SharedMessage = { role: Role, created_at: number, parts: Array<SharedPart>, };

/**
 * A part of a shared message, in the order of appearance.
 */
export type SharedPart = { "type": "text", text: string, } | { "type": "reasoning", text: string, } | { "type": "call", name: string, 
/**
 * Its arguments and its result, each at most 4 000 characters.
 */
arguments?: string, result?: string, is_error: boolean, } | { "type": "image", data: DataUrl, } | { "type": "file", name: string, data: DataUrl, };

/**
 * One tool call, or one question to a hook. A `run_subtask` node contains the calls of its level and has a title.
 */
export type TreeNode = { 
/**
 * The `tool_call_id`, or the `hook_call_id`.
 */
id: string, 
/**
 * The `tool_call_id` of the nearest enclosing `run_subtask`.
 */
parent_id: string | null, name: string, title?: string | null, args_preview?: string | null, result_preview?: string | null, is_error?: boolean | null, 
/**
 * The turn's running time when the call started, in milliseconds. Trees stored by earlier versions have none.
 */
started_ms?: number | null, duration_ms: number, 
/**
 * On a `run_subtask` node: the usage of its model calls, including those of its own subtasks.
 */
usage?: ModelCost | null, 
/**
 * On a call that needed a person's permission.
 */
decision?: Decision | null, 
/**
 * On a call that cost money beside the turn's models: its cost, absent if that is unknown.
 */
cost_usd?: number | null, 
/**
 * On a hook: its verdict. Such a node has the hook's name.
 */
hook?: TreeHook | null, };

/**
 * One model call, with the values of its `model_call_update` events.
 */
export type TreeModelCall = { 
/**
 * The `model_call_id`.
 */
id: string, 
/**
 * The `tool_call_id` of the call whose level asked the model; null at the root.
 */
parent_id: string | null, model: string, 
/**
 * The turn's running time when the call started, in milliseconds.
 */
started_ms: number, 
/**
 * The time from the start to the first word of the answer, in milliseconds. Absent if the call was cut off.
 */
first_byte_ms?: number | null, duration_ms: number, 
/**
 * Absent if the provider has not told it.
 */
usage?: Usage | null, 
/**
 * Absent if the usage or the price is unknown.
 */
cost_usd?: number | null, finish_reason: string, 
/**
 * The agent that asked the model; absent for `main` and for levels that are no agents.
 */
agent?: string | null, };

/**
 * A page of a thread's messages, oldest first.
 */
export type MessageList = { messages: Array<StoredMessage>, next_cursor: string | null, 
/**
 * The versions of the turns on this page that have several, in their order. Absent where no turn has.
 */
versions?: Array<TurnVersion>, };

/**
 * A turn beside others that follow the same turn. One of them is on the path, unless the path ends before them.
 */
export type TurnVersion = { turn_id: string, 
/**
 * The turn that it follows; null where it begins the conversation.
 */
parent_turn_id: string | null, 
/**
 * The oldest version with the same message. Versions that have it in common are answers to one message.
 */
question_of: string, 
/**
 * Whether its messages are part of the conversation.
 */
on_path: boolean, };

/**
 * A user's message in its original form, with its images and files.
 */
export type SentContent = { content: Content, };

/**
 * A file of a thread's workspace.
 */
export type FileEntry = { path: string, bytes: number, updated_at: number, 
/**
 * The version for `If-Match`. It changes with the contents.
 */
version: string, };

/**
 * The files of a workspace, in the order of their paths.
 */
export type FileList = { files: Array<FileEntry>, };

/**
 * An earlier content of a file: a write replaced it, or a deletion removed it.
 */
export type FileVersion = { 
/**
 * For the parameter `version` of the file's route.
 */
id: string, path: string, bytes: number, 
/**
 * When this content was written, in milliseconds since 1970.
 */
written_at: number, 
/**
 * When it was replaced or deleted, in milliseconds since 1970.
 */
replaced_at: number, 
/**
 * The id of the tool call that wrote it, or `upload`; null where the service does not know.
 */
written_by: string | null, };

/**
 * The earlier contents of a workspace's files, the last replaced one first.
 */
export type FileVersionList = { versions: Array<FileVersion>, };

/**
 * The state of a turn without an end.
 */
export type ThreadState = "running" | "waiting";

/**
 * A thread as the list shows it.
 */
export type ThreadSummary = { id: string, title: string, created_at: number, updated_at: number, 
/**
 * When the user pinned it. Absent elsewhere than in lists, and in the answer to the pin.
 */
pinned_at?: number | null, 
/**
 * The state of the newest turn; absent where it is over. A list hears of a turn that runs after some seconds.
 */
state?: ThreadState | null, 
/**
 * In the response to a search: an excerpt of the message that matches.
 */
snippet?: string | null, };

/**
 * A page of a user's threads: the pinned ones, then the others, each newest first.
 */
export type ThreadList = { threads: Array<ThreadSummary>, next_cursor: string | null, };

/**
 * A thread with the state of its object.
 */
export type ThreadDetail = { 
/**
 * The turn with which the conversation ends.
 */
current_turn_id: string | null, 
/**
 * The number of the newest event.
 */
last_seq: number, 
/**
 * Null when the thread is idle.
 */
running_turn_id: string | null, 
/**
 * The number of the running turn's first event; null when the thread is idle. A client reads the turn alone if it
 * streams after this number minus 1.
 */
running_turn_first_seq: number | null, 
/**
 * How long that turn has been running, in milliseconds, without its waits for somebody outside; null when the thread
 * is idle.
 */
running_ms: number | null, 
/**
 * How many messages wait for their turn.
 */
queued: number, 
/**
 * The newest session of a workflow in this thread.
 */
workflow_session?: WorkflowSession, id: string, title: string, created_at: number, updated_at: number, 
/**
 * When the user pinned it. Absent elsewhere than in lists, and in the answer to the pin.
 */
pinned_at?: number | null, 
/**
 * The state of the newest turn; absent where it is over. A list hears of a turn that runs after some seconds.
 */
state?: ThreadState | null, 
/**
 * In the response to a search: an excerpt of the message that matches.
 */
snippet?: string | null, };

/**
 * How the service carries out a new plan.
 */
export type ExecutionMode = "auto_execute" | "draft_only" | "agent_review";

/**
 * The status of a plan.
 */
export type PlanStatus = "pending_review" | "executing" | "completed" | "partial" | "failed" | "rejected" | "dropped" | "stopped";

/**
 * The status of a step.
 */
export type StepStatus = "pending" | "completed" | "partial" | "failed" | "skipped";

/**
 * A reviewer's verdict.
 */
export type Verdict = "approved" | "needs_changes" | "rejected";

/**
 * A reviewer's opinion of a plan.
 */
export type PlanReview = { verdict: Verdict, notes: string, };

/**
 * One step of a plan.
 */
export type PlanStep = { id: string, title: string, instructions: string, 
/**
 * The steps whose results this step uses.
 */
depends_on?: Array<string>, 
/**
 * The tool that carries the step out, if it needs only one.
 */
tool?: string | null, status: StepStatus, };

/**
 * A plan. The thread's object has the authoritative copy.
 */
export type Plan = { id: string, objective: string, reasoning: string, context_type: string, 
/**
 * The id of its subject, such as a project.
 */
entity_id?: string | null, intent_label?: string | null, execution_mode: ExecutionMode, requested_outputs?: Array<string>, priority_entities?: Array<string>, status: PlanStatus, steps: Array<PlanStep>, review?: PlanReview | null, 
/**
 * Grows with each change.
 */
revision: number, created_at: number, };

/**
 * A template.
 */
export type TemplateEntry = { id: string, name: string, description: string, 
/**
 * The titles of the tasks that its projects begin with.
 */
tasks: Array<string>, };

/**
 * The templates.
 */
export type TemplateList = { templates: Array<TemplateEntry>, };

/**
 * The body of `PATCH /api/projects/{id}`. A member that is left out stays as it is.
 */
export type ProjectChange = { 
/**
 * One line of 1 to 200 characters.
 */
name?: string, 
/**
 * At most 4,000 characters.
 */
description?: string, };

/**
 * The body of `PATCH /api/projects/{id}/tasks/{task}`. A member that is left out stays as it is.
 */
export type TaskChange = { title?: string, 
/**
 * At most 4,000 characters.
 */
notes?: string, status?: TaskStatus, };

/**
 * The body of `PATCH /api/projects/{id}/documents/{document}`. A member that is left out stays as it is.
 */
export type DocumentChange = { title?: string, 
/**
 * Markdown, of at most 30,000 characters.
 */
content?: string, };

/**
 * A project as the list shows it.
 */
export type ProjectEntry = { id: string, name: string, description: string, template_id: string | null, created_at: number, updated_at: number, };

/**
 * The user's projects, oldest first.
 */
export type ProjectList = { projects: Array<ProjectEntry>, };

/**
 * A project with its tasks and documents.
 */
export type ProjectDetail = { tasks: Array<ProjectTask>, documents: Array<DocumentEntry>, id: string, name: string, description: string, template_id: string | null, created_at: number, updated_at: number, };

/**
 * A task of a project.
 */
export type ProjectTask = { id: string, title: string, status: TaskStatus, notes: string, 
/**
 * The ids of the tasks that must be done before.
 */
blocked_by: Array<string>, updated_at: number, };

/**
 * The status of a task.
 */
export type TaskStatus = "open" | "in_progress" | "done";

/**
 * A document as its project lists it.
 */
export type DocumentEntry = { id: string, title: string, updated_at: number, };

/**
 * A document with its content.
 */
export type DocumentDetail = { 
/**
 * Markdown.
 */
content: string, id: string, title: string, updated_at: number, };

/**
 * The usage of all model calls of one day, operation, model and context.
 */
export type UsageRow = { 
/**
 * `2026-01-31`, UTC.
 */
day: string, operation_type: string, provider: string, model: string, context_type: string, calls: number, input_tokens: number, cached_tokens: number, output_tokens: number, 
/**
 * Null if the price of a call is unknown.
 */
cost_usd: number | null, };

/**
 * A user's usage, newest day first.
 */
export type UsageList = { 
/**
 * The beginning of the first listed day, in milliseconds since 1970.
 */
from: number, usage: Array<UsageRow>, };

/**
 * A session of a user. Its id opens nothing.
 */
export type SessionSummary = { id: string, 
/**
 * The sign-in; of a visitor the first turn.
 */
created_at: number, 
/**
 * When the user last came back: exact to the day, and of a visitor to the renewal of the cookie.
 */
seen_at: number, expires_at: number, 
/**
 * The browser and the system in short form, as they call themselves; empty where they are not known.
 */
agent: string, 
/**
 * Whether this request belongs to the session.
 */
current: boolean, };

/**
 * Where the sign-in goes on.
 */
export type StartedSignIn = { 
/**
 * The address at the provider. The browser goes there.
 */
location: string, };

/**
 * An identity provider at which people can sign in.
 */
export type SignInWay = { id: string, 
/**
 * Its name for people.
 */
label: string, };

/**
 * The sessions of a user, newest first.
 */
export type SessionList = { sessions: Array<SessionSummary>, };

/**
 * The deeds that the audit log has. A feature adds its deeds here, and to the table in docs/operations.md.
 */
export type AuditAction = "key_minted" | "key_revoked" | "signed_in" | "session_ended" | "sessions_ended" | "approval_granted" | "approval_denied" | "call_refused" | "thread_deleted" | "data_deleted" | "share_created" | "share_revoked" | "data_exported" | "data_erased";

/**
 * An entry of the audit log.
 */
export type AuditEntry = { id: string, created_at: number, 
/**
 * The user who did it.
 */
user_id: string, 
/**
 * A word of [`AuditAction`]. A newer version of the service may have written another one.
 */
action: string, 
/**
 * The id of the key, the session, the user, the thread or the share link, or the path of what was deleted.
 */
target: string, 
/**
 * The tool of a call, the scopes of a key, the thread of a share link, or how much an erasure removed.
 */
detail: string | null, 
/**
 * An HMAC of the client's address: the same for the same address and secret.
 */
address: string | null, };

/**
 * A page of the audit log, newest first.
 */
export type AuditPage = { entries: Array<AuditEntry>, next_cursor: string | null, };

/**
 * The state of an agent.
 */
export type AgentStatus = "created" | "speaking" | "silent" | "terminated";

/**
 * An agent of a thread.
 */
export type AgentSummary = { name: string, 
/**
 * The agent that made it; null for one of `main`.
 */
parent: string | null, 
/**
 * Its system prompt.
 */
instructions: string, 
/**
 * The call that answers in its place where another agent asks it; null: a model answers.
 */
code: string | null, 
/**
 * The texts that it heard since it last answered.
 */
heard: Array<string>, 
/**
 * The agents that answer, and those that only hear, in its next discussion that names nobody.
 */
speakers: Array<string>, listeners: Array<string>, 
/**
 * The hooks that it made for itself.
 */
hooks: Array<Hook>, };

/**
 * The agents of a thread.
 */
export type AgentList = { 
/**
 * The agent that answers the user.
 */
main: MainAgent, 
/**
 * The agents that were made.
 */
agents: Array<AgentSummary>, };

/**
 * `main`, the agent that answers the user, with its hooks.
 */
export type MainAgent = { 
/**
 * Its system prompt: the one that the open turn runs with, else that of a next turn without a chat context.
 */
instructions: string, 
/**
 * The open turn that the prompt belongs to; null where none is open.
 */
turn_id: string | null, 
/**
 * The agents that answer, and those that only hear, in its next discussion that names nobody.
 */
speakers: Array<string>, listeners: Array<string>, 
/**
 * The hooks of the thread, which hold from the next turn on.
 */
hooks: Array<Hook>, 
/**
 * The hooks of the operator, without their words.
 */
operators: Array<Hook>, 
/**
 * The hooks that it has made itself in this conversation.
 */
own_hooks: Array<Hook>, };

/**
 * One question to an agent with everything up to its answer.
 */
export type AgentRound = { turn_id: string, messages: unknown[], };

/**
 * The rounds of an agent, oldest first.
 */
export type AgentRounds = { rounds: Array<AgentRound>, 
/**
 * Names the page of the rounds before these; null where there are none.
 */
next_cursor: string | null, };

/**
 * A tool that runs in this thread without asking a person.
 */
export type StandingApproval = { 
/**
 * The tool's name.
 */
name: string, };

/**
 * The tools that a person allowed for the whole thread, by name.
 */
export type ApprovalList = { approvals: Array<StandingApproval>, };

/**
 * A fact about a user that models remember across threads.
 */
export type Memory = { id: string, content: string, created_at: number, 
/**
 * When a model last remembered it.
 */
updated_at: number, };

/**
 * A page of a user's memories, newest first.
 */
export type MemoryList = { memories: Array<Memory>, next_cursor: string | null, };

/**
 * The body of `POST /api/collections`.
 */
export type NewCollection = { 
/**
 * One line of at most 200 characters.
 */
name: string, 
/**
 * At most 1,000 characters.
 */
description?: string, };

/**
 * A collection of documents. Turns that name it can search it.
 */
export type Collection = { id: string, name: string, description: string, 
/**
 * The number of documents, and their bytes.
 */
documents: number, bytes: number, created_at: number, 
/**
 * The time of the last added document.
 */
updated_at: number, };

/**
 * A page of a user's collections, newest first.
 */
export type CollectionList = { collections: Array<Collection>, next_cursor: string | null, 
/**
 * Whether this deployment reads PDFs as documents.
 */
reads_pdfs: boolean, };

/**
 * A document of a collection. The service keeps its text in chunks.
 */
export type Document = { id: string, name: string, media_type: string, 
/**
 * The size of the upload.
 */
bytes: number, chunks: number, created_at: number, };

/**
 * A page of a collection's documents, newest first.
 */
export type DocumentList = { documents: Array<Document>, next_cursor: string | null, };

/**
 * A piece of a document that a search found.
 */
export type Passage = { collection_id: string, document_id: string, document_name: string, 
/**
 * The number of the chunk in the document, from 1 on.
 */
chunk: number, 
/**
 * The headings above the passage: `Guide > Install`.
 */
heading: string, text: string, 
/**
 * The score of the match, from 0 to 1.
 */
score: number, };

/**
 * The results of a search, best first.
 */
export type PassageList = { results: Array<Passage>, };

/**
 * The state of a session.
 */
export type SessionStatus = "running" | "waiting" | "needs_human_review" | "stuck" | "complete" | "failed";

/**
 * The program that carries out a session.
 */
export type SessionMode = "service" | "external";

/**
 * The notes with which a step ended.
 */
export type StepNotes = { step_id: string, notes: string, 
/**
 * Files or addresses that the step made.
 */
artifacts?: Array<string>, };

/**
 * A step of a session's definition.
 */
export type StepTitle = { id: string, title: string, };

/**
 * The work of a step.
 */
export type StepType = "agent" | "planned";

/**
 * The form of a model's replies in a step.
 */
export type OutputMode = "tool_use" | "structured_output";

/**
 * The work that passes.
 */
export type Threshold = "low" | "medium" | "high";

/**
 * The consequence of a step that does not advance.
 */
export type Stuck = "abort" | "notify_only";

/**
 * A model that judges the work of a step after each batch of its calls.
 */
export type WorkflowVerifier = { 
/**
 * The role whose models judge; absent: the models of the turn.
 */
model?: string, threshold: Threshold, 
/**
 * The author's own rules for the judgement. They stand in its prompt, below ours.
 */
instructions?: string, };

/**
 * The address that hears of the end of a session.
 */
export type WorkflowNotify = { 
/**
 * An http or https address. The guard of the web tools judges it when it is used.
 */
url: string, };

/**
 * One step of a procedure.
 */
export type WorkflowStep = { 
/**
 * Unique in the definition.
 */
id: string, title: string, instructions: string, type?: StepType, output_mode?: OutputMode, 
/**
 * The tools of the step, among those that the turn has; absent: all of them.
 */
tools?: Array<string>, verifier?: WorkflowVerifier, 
/**
 * Of a `planned` step: a person sees its plan before it runs.
 */
review?: boolean, };

/**
 * A procedure. Unknown members are ignored.
 */
export type WorkflowDefinition = { name: string, 
/**
 * The goal of each session, where a session has none of its own.
 */
goal?: string, steps: Array<WorkflowStep>, stuck?: Stuck, 
/**
 * Hears of the end of each session.
 */
notify?: WorkflowNotify, };

/**
 * A workflow as the list shows it.
 */
export type WorkflowSummary = { workflow_id: string, name: string, 
/**
 * The number of its steps.
 */
steps: number, 
/**
 * Grows with each change of the definition. A session keeps the version with which it began.
 */
version: number, 
/**
 * It comes with the service. A user's own workflow of the same id stands in its place.
 */
built_in: boolean, 
/**
 * When the user changed it last; absent on a built-in one.
 */
updated_at?: number, };

/**
 * The user's workflows, by id, then the built-in ones.
 */
export type WorkflowList = { workflows: Array<WorkflowSummary>, 
/**
 * The most workflows that a user may have, without the built-in ones.
 */
max: number, };

/**
 * A workflow with its definition.
 */
export type WorkflowDetail = { definition: WorkflowDefinition, 
/**
 * The members of the written definition that have no effect, by their paths; at most 50. Only the answer to a `PUT`
 * has them.
 */
ignored?: Array<string>, workflow_id: string, name: string, 
/**
 * The number of its steps.
 */
steps: number, 
/**
 * Grows with each change of the definition. A session keeps the version with which it began.
 */
version: number, 
/**
 * It comes with the service. A user's own workflow of the same id stands in its place.
 */
built_in: boolean, 
/**
 * When the user changed it last; absent on a built-in one.
 */
updated_at?: number, };

/**
 * The newest session of a thread.
 */
export type WorkflowSession = { session_id: string, workflow_id: string, version: number, 
/**
 * The name of its workflow.
 */
name: string, mode: SessionMode, status: SessionStatus, reason?: string, goal: string, 
/**
 * The place of the step at which it stands, from 0; the number of steps once it is complete.
 */
step: number, steps: Array<StepTitle>, 
/**
 * The notes of the finished steps, each with its first 4,000 characters.
 */
notes: Array<StepNotes>, updated_at: number, };

export const AGENT_NAME = { max: 32, pattern: /^[a-z][a-z0-9_-]{0,31}$/ };

export const WORKFLOW_ID = { max: 64, pattern: /^[a-z0-9][a-z0-9_-]{0,63}$/ };
export const MAX_LINE_CHARS = 200;
export const MAX_DESCRIPTION_CHARS = 1000;
export const MAX_TITLE_CHARS = 200;
export const MAX_REASON_BYTES = 2000;
