import * as http from "node:http";
import { consoleFolder } from "../../src/console/folder.js";
import { type AuditRecord, createServer, type Server, type ServerOptions } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { obedient } from "../conformance/agents.js";

/** A server with a console whose web app consists of test files. */

/** Replaces the built web app by test files. */
export function useTestFiles(): void {
  consoleFolder.url = () => new URL("../fixtures/console/", import.meta.url);
}

export interface ConsoleWorld {
  readonly server: Server;
  /** URL of the console, without a trailing slash. */
  readonly base: string;
  readonly records: AuditRecord[];
  readonly lines: { readonly facts: Readonly<Record<string, unknown>>; readonly message: string }[];
}

export async function openConsole(options: Partial<ServerOptions> = {}): Promise<ConsoleWorld> {
  useTestFiles();
  const records: AuditRecord[] = [];
  const lines: ConsoleWorld["lines"] = [];
  const log = (facts: object, message = ""): void => void lines.push({ facts: { ...facts }, message });
  const server = await createServer({
    agent: obedient("shown"),
    store: memoryStore(),
    audit: { write: (record: AuditRecord) => void records.push(record) },
    logger: { debug: log, info: log, warn: log, error: log },
    port: 0,
    grpcPort: false,
    limits: { shutdownGraceMs: 50, maxFailedAttempts: 100_000 },
    console: true,
    ...options,
  } as ServerOptions);
  return { server, base: `${server.url}${options.basePath ?? ""}/console`, records, lines };
}

/** The one-time token in a link. */
export function tokenIn(url = ""): string {
  return new URLSearchParams(new URL(url).hash.slice(1)).get("token") ?? "";
}

export interface Answered {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
}

export interface Asking {
  readonly method?: string;
  readonly headers?: http.OutgoingHttpHeaders;
  readonly body?: string | Uint8Array;
  /** Path to send in place of that of the URL. */
  readonly path?: string;
}

/** Sends a request and returns the head of the answer. */
export function open(url: string, { method = "GET", headers = {}, body, path }: Asking = {}) {
  return new Promise<http.IncomingMessage>((resolve, reject) => {
    const request = http.request(url, { method, headers, agent: false, ...(path !== undefined && { path }) });
    request.once("response", resolve).once("error", reject).end(body);
  });
}

/** Sends a request and returns the answer. */
export async function ask(url: string, asking?: Asking): Promise<Answered> {
  const answer = await open(url, asking);
  let text = "";
  for await (const piece of answer.setEncoding("utf8")) text += piece;
  return { status: answer.statusCode ?? 0, headers: answer.headers, text };
}

/** Headers that a browser sends from the console's own page. */
export const own = { "sec-fetch-site": "same-origin" } as const;

/** Starts a session with a one-time token or with headers. */
export function logIn(base: string, how: { readonly token: string } | Readonly<Record<string, string>>) {
  const isToken = "token" in how;
  const headers = { ...own, ...(isToken ? { "content-type": "application/json" } : how) };
  return ask(`${base}/api/session`, { method: "POST", headers, ...(isToken && { body: JSON.stringify(how) }) });
}

/** Headers that the page sends in a new session. */
export async function sessionOf(
  base: string,
  how: Parameters<typeof logIn>[1],
): Promise<{ readonly cookie: string; readonly "sec-fetch-site": "same-origin" }> {
  const { status, headers, text } = await logIn(base, how);
  if (status !== 204) throw new Error(`${status} ${text}`);
  return { ...own, cookie: cookieIn(headers) };
}

/** True if the headers belong to a session. */
export async function isOpen(base: string, headers: http.OutgoingHttpHeaders): Promise<boolean> {
  const { status, text } = await ask(`${base}/api/session`, { headers });
  if (status !== 200) throw new Error(`${status} ${text}`);
  return "operator" in JSON.parse(text);
}

/** The name and the value in `Set-Cookie`. */
export function cookieIn(headers: http.IncomingHttpHeaders): string {
  return headers["set-cookie"]?.[0]?.split(";", 1)[0] ?? "";
}

/** Opens a stream of the operator's service. Sends tasks until it begins, because it starts with the first task. */
export async function follow(
  { base, server }: Pick<ConsoleWorld, "base" | "server">,
  session: http.OutgoingHttpHeaders,
): Promise<http.IncomingMessage> {
  const headers = { ...session, "content-type": "application/connect+json" };
  const body = Buffer.from("\0\0\0\0\x02{}");
  const stream = open(`${base}/api/admin/parley.admin.v1.AdminService/FollowTasks`, { method: "POST", headers, body });
  let isOpen = false;
  void stream.finally(() => {
    isOpen = true;
  });
  for (let i = 0; !isOpen; i++) {
    const message = { messageId: `${i}`, role: "ROLE_USER", parts: [{ text: "hello" }] };
    const json = { "content-type": "application/json" };
    await ask(`${server.url}/message:send`, { method: "POST", headers: json, body: JSON.stringify({ message }) });
  }
  return stream;
}
