// Runs in the browser, on a page of another origin than the server's. It only uses fetch, EventSource and Connect's
// published libraries, like a real page.
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";
import { A2AService, Role, TaskState } from "/gen/lf/a2a/v1/a2a_pb.js";

const user = (text) => ({ messageId: crypto.randomUUID(), role: Role.USER, parts: [part(text)] });
const part = (text) => ({ content: { case: "text", value: text } });

/** Reads the card and the headers that a script may read. */
async function card(base) {
  const response = await fetch(`${base}/.well-known/agent-card.json`);
  const { name } = await response.json();
  return { name, etag: response.headers.get("etag") };
}

/** Calls a method over JSON-RPC with headers that need a preflight. */
async function rpc(base, method, params, headers = {}) {
  const response = await fetch(base, {
    method: "POST",
    headers: { "content-type": "application/json", "a2a-version": "1.0", "x-request-id": "from-browser", ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  return { ...(await response.json()), requestId: response.headers.get("x-request-id") };
}

/** Makes a request over HTTP+JSON. */
async function rest(url, init) {
  const response = await fetch(url, init);
  return { status: response.status, body: await response.json() };
}

const transports = { connect: createConnectTransport, "grpc-web": createGrpcWebTransport };

/** Sends a message, reads a stream and causes an error, over one of Connect's protocols. */
async function call(base, protocol) {
  const client = createClient(A2AService, transports[protocol]({ baseUrl: base }));
  const sent = await client.sendMessage({ message: user("echo hello") });
  const kinds = [];
  for await (const { payload } of client.sendStreamingMessage({ message: user("stream 3 4") }))
    kinds.push(payload.case);
  const failure = await client.getTask({ id: "nobody" }).catch((error) => ConnectError.from(error));
  return {
    state: TaskState[sent.payload.value.status.state],
    kinds,
    code: Code[failure.code],
    details: failure.details.map(({ type }) => type),
  };
}

/** The events of the followed stream, with its breaks and its end. */
const followed = { events: [], isClosed: false, breaks: 0 };

/** Follows an event stream. The browser reconnects it. */
function follow(url) {
  Object.assign(followed, { events: [], isClosed: false, breaks: 0 });
  const source = new EventSource(url);
  source.onmessage = ({ data, lastEventId }) =>
    followed.events.push({ id: Number(lastEventId), data: JSON.parse(data) });
  source.onerror = () => {
    followed.breaks++;
    followed.isClosed = source.readyState === EventSource.CLOSED;
  };
}

globalThis.probe = { card, rpc, rest, call, follow, followed };
