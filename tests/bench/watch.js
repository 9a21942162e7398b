// Counts what a Worker asks of the platform, by wrapping the platform's own classes before the Worker's code runs. Only
// the counting build of the benchmark has it; the Worker itself is the one that is deployed.

/** Counts since the last `taken()`. Rows are as the platform bills them: index rows and deletions count. */
const zero = () => ({
  requests: 0, // to the Worker and to objects: each is billed as a request
  alarms: 0, // runs of an object's alarm
  subrequests: 0, // fetch, calls of objects, queries of D1
  object_statements: 0,
  object_rows_written: 0,
  object_rows_read: 0,
  alarms_set: 0, // billed as a row written each
  d1_queries: 0,
  d1_rows_written: 0,
  d1_rows_read: 0,
  d1_ms: 0, // from the query to its answer, in whole milliseconds
  r2_class_a: 0, // writes and lists of R2; deletions are free
  r2_bytes: 0, // written to R2
});

let counts = zero();
/** Cursors of the object's SQLite, whose figures are final once the Worker has read them to the end. */
let cursors = [];
/** The objects that have an alarm: while there is one, a turn has work left. */
const alarmed = new Set();
let memory = null;
/** The size of each object's database when it last had nothing left to do, and of D1 after its last query. */
const objectBytes = new Map();
let d1Bytes = 0;

function wrap(prototype, name, around) {
  const original = prototype[name];
  if (typeof original !== "function" || original.watched) return;
  prototype[name] = function (...args) {
    return around(() => original.apply(this, args), this, args);
  };
  prototype[name].watched = true;
}

const { Instance } = WebAssembly;
WebAssembly.Instance = new Proxy(Instance, {
  construct(target, args) {
    const instance = Reflect.construct(target, args);
    memory = instance.exports.memory;
    return instance;
  },
});
wrap(globalThis, "fetch", (call) => (counts.subrequests++, call()));

/** Counts a query. Its time is a clock's: D1's own `duration` is always 0 on this machine. */
async function queried(call) {
  counts.subrequests++;
  counts.d1_queries++;
  const asked = Date.now();
  const answer = await call();
  counts.d1_ms += Date.now() - asked;
  [answer].flat().forEach(watchD1);
  return answer;
}

function watchD1(result) {
  counts.d1_rows_written += result?.meta?.rows_written ?? 0;
  counts.d1_rows_read += result?.meta?.rows_read ?? 0;
  d1Bytes = result?.meta?.size_after ?? d1Bytes;
}

/** Counts an operation of class A. */
function listed(call) {
  counts.subrequests++;
  counts.r2_class_a++;
  return call();
}

function put(call, _, [, value]) {
  counts.r2_bytes += new TextEncoder().encode(value).length;
  return listed(call);
}

/** Wraps the classes behind a Worker's bindings. */
export function watchEnv(env) {
  const bucket = Object.getPrototypeOf(env.WORKSPACE);
  wrap(bucket, "put", put);
  wrap(bucket, "list", listed);
  wrap(Object.getPrototypeOf(env.DB), "batch", queried);
  const statement = Object.getPrototypeOf(env.DB.prepare("SELECT 1"));
  wrap(statement, "run", queried);
  wrap(statement, "all", queried);
}

/** Wraps the classes behind an object's storage. */
export function watchStorage(storage) {
  wrap(Object.getPrototypeOf(storage.sql), "exec", (call) => {
    const cursor = call();
    counts.object_statements++;
    cursors.push(cursor);
    return cursor;
  });
  const prototype = Object.getPrototypeOf(storage);
  wrap(prototype, "setAlarm", (call, on) => {
    counts.alarms_set++;
    alarmed.add(on);
    return call();
  });
  wrap(prototype, "deleteAlarm", (call, on) => {
    alarmed.delete(on);
    // Only the object itself may ask.
    objectBytes.set(on, on.sql.databaseSize);
    return call();
  });
}

export function request() {
  counts.requests++;
}

export function alarm() {
  counts.alarms++;
}

/** Whether no object has an alarm: nothing is left to do. */
export const isIdle = () => alarmed.size === 0;

/** The counts since the last call, and the sizes of now: the Worker's memory, all objects' databases, and D1. */
export function taken() {
  for (const cursor of cursors) {
    counts.object_rows_written += cursor.rowsWritten;
    counts.object_rows_read += cursor.rowsRead;
  }
  const object_bytes = [...objectBytes.values()].reduce((sum, bytes) => sum + bytes, 0);
  const answer = { ...counts, wasm_memory_bytes: memory?.buffer.byteLength, object_bytes, d1_bytes: d1Bytes };
  [counts, cursors] = [zero(), []];
  return answer;
}
