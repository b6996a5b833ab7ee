import { type QueryClient, queryOptions } from "@tanstack/react-query";
import { apiUrl } from "./base.js";
import { ownFetch, refusals } from "./own-fetch.js";

/** An agent that the console's server names. */
export interface NamedAgent {
  readonly name: string;
  /** Absolute, or relative to the origin of the page. */
  readonly url: string;
  /** True if this server serves it. */
  readonly own: boolean;
}

/** Ways to begin a session: the token of the link that the server prints, or the credentials of an operator. */
export type Login = "token" | "admin";

/** The session of this browser. */
export interface Session {
  readonly operator: { readonly name: string; readonly role: "read" | "write" };
  /** True if an operator's service can be reached. */
  readonly admin: boolean;
  readonly agents: readonly NamedAgent[];
  /** First page, as the command line asked. */
  readonly start?: {
    readonly agent?: string;
    readonly task?: string;
    /** Name of the recording that the server has, see `serverRecording`. */
    readonly recording?: string;
  };
  readonly version: string;
}

/** The answer of the console's server: a session, or the ways to begin one. */
export type SessionState = { readonly session: Session } | { readonly login: readonly Login[] };

async function readSession(): Promise<SessionState> {
  const answer = await fetch(apiUrl("session"), { headers: { accept: "application/json" } });
  if (!answer.ok) throw new Error(await reasonOf(answer));
  const body = (await answer.json()) as Session | { readonly login: readonly Login[] };
  return "login" in body ? body : { session: body };
}

/** The query of the session. */
export const sessionQuery = queryOptions({ queryKey: ["session"], queryFn: readSession, staleTime: Infinity });

/** Begins a session. @throws Error with the server's reason if the credential is refused */
export async function logIn(queries: QueryClient, how: Login, secret: string): Promise<void> {
  const answer = await fetch(apiUrl("session"), {
    method: "POST",
    headers: how === "token" ? { "content-type": "application/json" } : { authorization: `Bearer ${secret}` },
    ...(how === "token" && { body: JSON.stringify({ token: secret }) }),
  });
  if (!answer.ok) throw new Error(await reasonOf(answer));
  otherTabs.postMessage("");
  await readAgain(queries);
}

/** Ends the session and forgets everything that was read in it. */
export async function logOut(queries: QueryClient): Promise<void> {
  await fetch(apiUrl("session"), { method: "DELETE" });
  otherTabs.postMessage("");
  await readAgain(queries);
}

/** The other tabs of this browser, which have the same session. */
const otherTabs = new BroadcastChannel("parley-console-session");

/**
 * Reads the session again when another tab has begun or ended it, and when the server refuses a request without one.
 *
 * @param onRead called after each read
 */
export function watchSession(queries: QueryClient, onRead: () => void): void {
  const read = (): void => void readAgain(queries).then(onRead);
  refusals.subscribe(read);
  otherTabs.addEventListener("message", read);
}

/** Reads the session again. Without one, everything that was read in it is forgotten. */
async function readAgain(queries: QueryClient): Promise<void> {
  const { queryKey } = sessionQuery;
  await queries.invalidateQueries({ queryKey });
  const state = queries.getQueryData(queryKey);
  if (state === undefined || "session" in state) return;
  // The page watches the query of the session, which therefore stays.
  queries.removeQueries({ predicate: ({ queryKey: [name] }) => name !== queryKey[0] });
}

/** Returns the text of the recording that the command line opened. @throws Error with the server's reason */
export async function serverRecording(): Promise<string> {
  const answer = await ownFetch(apiUrl("recording"));
  if (!answer.ok) throw new Error(await reasonOf(answer));
  return answer.text();
}

/** Takes the one-time token out of the address, where neither history nor a copied link keeps it. */
export function takeToken(): string | undefined {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token === null) return undefined;
  history.replaceState(history.state, "", location.pathname + location.search);
  return token;
}

async function reasonOf(answer: Response): Promise<string> {
  const text = await answer.text().catch(() => "");
  try {
    const body = JSON.parse(text) as { error?: unknown; message?: unknown };
    for (const said of [body.error, body.message]) if (typeof said === "string") return said;
  } catch {
    // A proxy's answer, for example.
  }
  return `The server answered ${answer.status} ${answer.statusText}`.trim();
}
