import { gzipSync } from "node:zlib";
import { artifact, completed, inputRequired } from "../../../src/agent/event.js";
import { type Answer, type Habit, plainly, rewritten } from "./zoo-server.js";

const isSend = ({ rpc }: Pick<Answer, "rpc">): boolean => rpc === "SendMessage" || rpc === "SendStreamingMessage";
const isStream = ({ type }: Answer): boolean => type.startsWith("text/event-stream");

/** Frames the events of streams differently. */
const framed = (frame: (json: string, i: number) => string, begin = "", end = ""): Habit => ({
  write: rewritten((answer) =>
    isStream(answer) ? { text: begin + answer.events.map(frame).join("") + end } : { text: answer.text },
  ),
});

const typed = (change: (type: string) => string): Habit => ({
  write: rewritten(({ type, rpc }) => ({ type: rpc === "card" ? type : change(type) })),
});

/** Writes an answer directly to the socket. */
const raw = (head: (answer: Answer) => string): Habit => ({
  write: (answer) => {
    if (answer.rpc === "card") return plainly(answer);
    answer.socket.end(`${head(answer)}\r\n\r\n${answer.text}`);
  },
});

/** An event in the form that 0.3 libraries write, for the stream of a 1.0 server. */
function withKind(json: string): string {
  const change = (value: Record<string, unknown>): object => {
    const [[name, inner] = []] = Object.entries(value);
    const kinds: Record<string, string> = {
      task: "task",
      statusUpdate: "status-update",
      artifactUpdate: "artifact-update",
    };
    return { ...(inner as object), kind: kinds[name ?? ""] };
  };
  const value = JSON.parse(json) as { result?: Record<string, unknown> } & Record<string, unknown>;
  return JSON.stringify(value.result === undefined ? change(value) : { ...value, result: change(value.result) });
}

/** The answer to a send, with its task in the initial state. */
function begun(text: string): string {
  const json = JSON.parse(text) as { result?: { task: Begun }; task?: Begun };
  const { id, contextId } = (json.result ?? json).task as Begun;
  const task = { id, contextId, status: { state: "TASK_STATE_SUBMITTED" } };
  return JSON.stringify(json.result === undefined ? { task } : { ...json, result: { task } });
}

interface Begun {
  readonly id: string;
  readonly contextId: string;
}

/** Omits the last event of each stream. Answers each subscription with all events of the task from the first one. */
function replaying(): Habit {
  const told = new Map<string, readonly string[]>();
  return {
    write: (answer) => {
      if (answer.rpc !== "SendStreamingMessage" && answer.rpc !== "SubscribeToTask") return plainly(answer);
      const id = /"(?:id|taskId)":"(\w{8}-[\w-]+)"/.exec(answer.text)?.[1] ?? "";
      const events = told.get(id) ?? answer.events.slice(0, -1);
      told.set(id, events);
      const text = events.map((json) => `data: ${json}\n\n`).join("");
      return plainly({ ...answer, status: 200, type: "text/event-stream", text });
    },
  };
}

/** Servers that answer correctly in unusual ways. A client receives the task's text and sends once. */
export const harmless: Readonly<Record<string, Habit>> = {
  "nothing special": {},
  "Connection: close with each answer": {
    write: (answer) => {
      answer.response.setHeader("connection", "close");
      plainly(answer);
    },
  },
  "events with kind": framed((json) => `data: ${withKind(json)}\n\n`),
  "the whole artifact at the end, append false": {
    async *execute() {
      yield artifact({ id: "a", text: "well " });
      yield artifact({ id: "a", text: "don", append: true });
      yield artifact({ id: "a", text: "well done", append: false, lastChunk: true });
      yield completed();
    },
  },
  "an interface on another host": {
    card: (card, url) => ({
      ...card,
      supportedInterfaces: (card.supportedInterfaces as object[]).map((each) => ({
        ...each,
        url: url.replace("127.0.0.1", "localhost"),
      })),
    }),
  },
  "an interface with a slash at the end": {
    card: (card, url) => ({
      ...card,
      supportedInterfaces: (card.supportedInterfaces as object[]).map((each) => ({ ...each, url: `${url}/` })),
    }),
  },
  "answers in chunks of one byte": {
    write: ({ response, status, type, text }) => {
      response.writeHead(status, { "content-type": type });
      for (const byte of Buffer.from(text)) response.write(Buffer.of(byte));
      response.end();
    },
  },
  "HTTP/1.0": raw(({ status, type }) => `HTTP/1.0 ${status} OK\r\nContent-Type: ${type}`),
  "a body that ends with the connection": raw(
    ({ status, type }) => `HTTP/1.1 ${status} OK\r\nContent-Type: ${type}\r\nConnection: close`,
  ),
  "no reason phrase, names in capitals": raw(
    ({ status, type, text }) =>
      `HTTP/1.1 ${status}\r\nCONTENT-TYPE:${type}\r\nCONTENT-LENGTH:${Buffer.byteLength(text)}\r\nCONNECTION:CLOSE`,
  ),
  "103 Early Hints first": {
    write: (answer) => answer.response.writeEarlyHints({ link: "</a>; rel=preload" }, () => plainly(answer)),
  },
  "charset=utf-8": typed((type) => `${type}; charset=utf-8`),
  "charset in quotes and capitals": typed((type) => `${type};Charset="UTF-8"`),
  "types in capitals": typed((type) => type.toUpperCase()),
  "a byte order mark": { write: rewritten(({ text }) => ({ text: `\ufeff${text}` })) },
  "answers without a type": {
    write: ({ response, status, text, rpc }) =>
      response.writeHead(status, rpc === "card" ? { "content-type": "application/json" } : {}).end(text),
  },
  "space around": { write: rewritten((answer) => (isStream(answer) ? {} : { text: `\r\n \t${answer.text}\r\n\n` })) },
  "CRLF in streams": framed((json) => `data: ${json}\r\n\r\n`),
  "CR in streams": framed((json) => `data: ${json}\r\r`),
  "CR and LF in streams": framed((json) => `data: ${json}\r\n\n`),
  "comments in streams": framed((json, i) => `: ping - ${i}\r\n\r\ndata: ${json}\r\n\r\n`, ":\n\n", ": bye\n\n"),
  "pings with a name": framed((json) => `event: ping\r\ndata: 2026-01-02 03:04:05\r\n\r\ndata: ${json}\r\n\r\n`),
  "events with names, ids and retry": framed((json, i) => `event: message\nid: x-${i}\nretry: 1000\ndata: ${json}\n\n`),
  "data without a space": framed((json) => `data:${json}\n\n`),
  "data on several lines": framed(
    (json) => `${JSON.stringify(JSON.parse(json), null, 1).replace(/^/gm, "data: ")}\n\n`,
  ),
  "no blank line at the end": {
    write: rewritten((answer) => (isStream(answer) ? { text: answer.text.trimEnd() } : {})),
  },
  "members that nobody knows": {
    write: rewritten((answer) =>
      isStream(answer) || answer.rpc === "card"
        ? {}
        : { text: answer.text.replace(/^{/, '{"x-trace":"1","debug":{"a":[1]},') },
    ),
  },
  "results with an error of null": {
    write: rewritten(({ text, rpc }) => ({
      text: rpc === "card" ? text : text.replace(/("jsonrpc":"2.0",)/g, '$1"error":null,'),
    })),
  },
  "streams that end before the task does": framed((json, i) => (i === 0 ? `data: ${json}\n\n` : "")),
  "streams told again, without their end": replaying(),
  "streams that are cut after the first event": {
    write: (answer) => {
      if (!isStream(answer) || answer.rpc !== "SendStreamingMessage") return plainly(answer);
      answer.response.writeHead(200, { "content-type": answer.type });
      answer.response.write(`data: ${answer.events[0]}\n\n`, () => answer.socket.destroy());
    },
  },
  "sends answered before the task has begun": {
    write: rewritten((answer) => (answer.rpc === "SendMessage" ? { text: begun(answer.text) } : {})),
  },
  "201 for sends": { write: rewritten((answer) => (isSend(answer) && !isStream(answer) ? { status: 201 } : {})) },
};

const ASKED = /"INPUT_REQUIRED"|"TASK_STATE_INPUT_REQUIRED"/;

/** The task and status of a question in an answer or in events of a stream. */
function questionIn(texts: readonly string[]): object | undefined {
  const asking = texts.findLast((text) => ASKED.test(text));
  if (asking === undefined) return undefined;
  const value = JSON.parse(asking) as { result?: object };
  const [of = {}] = Object.values(value.result ?? value) as Record<string, unknown>[];
  return { id: of.taskId ?? of.id, contextId: of.contextId, status: of.status };
}

/** Shows the waiting task in answer to the message that answers its question, and in some reads after that. */
function slowToBegin(reads: number): Habit {
  let question: object | undefined;
  let left = 0;
  return {
    async *execute(turn) {
      if (turn.history.length === 0) return yield inputRequired("Which?");
      yield artifact({ id: "a", text: "well done" });
      yield completed();
    },
    write: (answer) => {
      const texts = isStream(answer) ? answer.events : [answer.text];
      if (question === undefined) {
        if (isSend(answer)) question = questionIn(texts);
        return plainly(answer);
      }
      if (isSend(answer)) left = reads;
      else if (answer.rpc !== "GetTask" || left-- <= 0) return plainly(answer);
      const said = isSend(answer) ? { task: question } : question;
      const { result, ...rest } = JSON.parse(texts[0] ?? "{}") as { result?: object };
      const json = JSON.stringify(result === undefined ? said : { ...rest, result: said });
      plainly({ ...answer, text: isStream(answer) ? `data: ${json}\n\n` : json });
    },
  };
}

/**
 * Servers with unusual answers to a message for a waiting task. The client receives the text of the next turn and sends
 * once.
 */
export const followUps: Readonly<Record<string, () => Habit>> = {
  "a turn that begins at once": () => ({ ...slowToBegin(0), write: plainly }),
  "the old question as the answer": () => slowToBegin(0),
  "the old question as the answer, and in reads after it": () => slowToBegin(3),
};

/** The result of a send by each way to send: the task's text, or the reason of an error. */
export interface Failing extends Habit {
  readonly ends: Readonly<Record<"send" | "stream" | "delegation", string>>;
}

const all = (reason: string): Failing["ends"] => ({ send: reason, stream: reason, delegation: reason });
/** A delegation finds the task in the agent's list. */
const butFound: Failing["ends"] = { ...all("UNAVAILABLE"), delegation: "well done" };
const butSends = (reason: string): Failing["ends"] => ({ ...all(reason), send: "well done" });

const plainError = (status: number, text: string, fails: (answer: Pick<Answer, "rpc">) => boolean): Habit => ({
  before: (answer) => {
    if (!fails(answer)) return false;
    answer.response.writeHead(status, { "content-type": "text/plain; charset=utf-8" }).end(text);
    return true;
  },
});

const isStreaming = ({ rpc }: Pick<Answer, "rpc">): boolean => rpc === "SendStreamingMessage";
const losing = (answer: Answer): unknown => (isSend(answer) ? answer.socket.destroy() : plainly(answer));

/** Servers that fail sends or streams, or that answer them in invalid ways. Each receives the message once. */
export const failing: Readonly<Record<string, Failing>> = {
  "500 in plain text, then a silent close (uvicorn)": {
    before: (answer) => {
      if (isSend(answer)) answer.response.once("finish", () => answer.socket.destroySoon());
      return plainError(500, "Internal Server Error", isSend).before?.(answer) === true;
    },
    ends: all("INTERNAL"),
  },
  "404 in plain text": { ...plainError(404, "Not Found", isSend), ends: all("METHOD_NOT_FOUND") },
  "405 in plain text": { ...plainError(405, "Method Not Allowed", isSend), ends: all("METHOD_NOT_ALLOWED") },
  "a lost answer": { write: losing, ends: butFound },
  "a lost answer, and no list": {
    ...plainError(404, "Not Found", ({ rpc }) => rpc === "ListTasks"),
    write: losing,
    ends: all("UNAVAILABLE"),
  },
  "half an answer": {
    write: (answer) => {
      if (!isSend(answer)) return plainly(answer);
      answer.response.writeHead(answer.status, { "content-type": answer.type, "content-length": answer.text.length });
      answer.response.write(answer.text.slice(0, 20), () => answer.socket.destroy());
    },
    ends: butFound,
  },
  "404 for streams": { ...plainError(404, "Not Found", isStreaming), ends: butSends("METHOD_NOT_FOUND") },
  "405 for streams": { ...plainError(405, "Method Not Allowed", isStreaming), ends: butSends("METHOD_NOT_ALLOWED") },
  "streams answered by one result": {
    write: (answer) =>
      isStream(answer)
        ? plainly({ ...answer, type: "application/json", text: answer.events[0] ?? "" })
        : plainly(answer),
    ends: butSends("INVALID_AGENT_RESPONSE"),
  },
  "streams answered by one result without a type": {
    write: (answer) => (isStream(answer) ? answer.response.writeHead(200).end(answer.events[0]) : plainly(answer)),
    ends: butSends("INVALID_AGENT_RESPONSE"),
  },
  "gzip, which nobody asked for": {
    write: ({ response, status, type, text, rpc }) =>
      rpc === "card"
        ? response.writeHead(status, { "content-type": type }).end(text)
        : response.writeHead(status, { "content-type": type, "content-encoding": "gzip" }).end(gzipSync(text)),
    ends: all("INVALID_AGENT_RESPONSE"),
  },
  // Starlette's redirect_slashes. The client sends credentials and messages only to the card's URL.
  "307 to the path with a slash": {
    before: ({ request, response, rpc }) => {
      if (rpc === "card") return false;
      response.writeHead(307, { location: `http://${request.headers.host}${request.url}/` }).end();
      return true;
    },
    ends: all("INVALID_AGENT_RESPONSE"),
  },
};
