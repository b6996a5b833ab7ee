import { type QueryClient, queryOptions } from "@tanstack/react-query";
import { apiUrl } from "./base.js";
import { ownFetch } from "./own-fetch.js";

/** A notification in the list. */
export interface NotificationSummary {
  readonly number: number;
  readonly at: string;
  readonly status: number;
  readonly refusal?: { readonly code: string; readonly reason: string; readonly detail?: string };
  readonly signatures: readonly { readonly kind: string; readonly issuer?: string }[];
  /** Headers with signatures that were not checked. */
  readonly unchecked: readonly string[];
  readonly isTest: boolean;
  readonly isRepeat: boolean;
  readonly kind?: string;
  readonly taskId?: string;
  readonly contextId?: string;
  readonly state?: number;
  readonly eventId?: string;
  readonly configId?: string;
  readonly generation?: number;
  readonly sentAt?: string;
  readonly size: number;
}

/** A notification as it arrived, without credentials. */
export interface Notification extends NotificationSummary {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A key by which signatures are checked. */
export interface Proof {
  readonly id: number;
  readonly kind: "server" | "secret" | "publicKey";
  readonly shown: string;
}

/** The receiver of the session. */
export interface Receiver {
  readonly address: string;
  readonly token: string;
  readonly proofs: readonly Proof[];
  /** Newest first. */
  readonly notifications: readonly NotificationSummary[];
  /** Numbers of the oldest that is kept, and of the last that arrived. */
  readonly first: number;
  readonly last: number;
  /** Requests that were refused because too many came. */
  readonly limited: number;
  readonly limits: {
    readonly notifications: number;
    readonly bytes: number;
    readonly bodyBytes: number;
    readonly perMinute: number;
  };
}

const KEY = ["receiver"] as const;

/** Milliseconds between reads of a page that shows the receiver. */
export const RECEIVER_EVERY = 1_000;

/** The query of the receiver, which the first read opens. Later reads return the notifications since then. */
export const receiverQuery = queryOptions({
  queryKey: KEY,
  queryFn: async ({ client, signal }): Promise<Receiver> => {
    const before = client.getQueryData<Receiver>(KEY);
    const read = async (after: number) =>
      (await (await ask(`?after=${after}`, { method: "POST", signal })).json()) as Receiver;
    const now = await read(before?.last ?? 0);
    const isSame = before === undefined || before.address === now.address;
    const { notifications, ...rest } = isSame ? now : await read(0);
    const older = isSame ? (before?.notifications ?? []) : [];
    // Two reads may overlap.
    const newer = notifications.toReversed().filter(({ number }) => number > (older[0]?.number ?? 0));
    return { ...rest, notifications: [...newer, ...older].filter(({ number }) => number >= rest.first) };
  },
});

/** Returns the query of one notification; null if it is not kept anymore. */
export function notificationQuery(number: number) {
  return queryOptions({
    queryKey: ["receiver-notification", number],
    queryFn: async ({ signal }) => {
      const answer = await ownFetch(apiUrl(`receiver/notifications/${number}`), { signal });
      if (answer.status === 404) return null;
      if (!answer.ok) throw new Error(await reasonOf(answer));
      return (await answer.json()) as Notification;
    },
    staleTime: Infinity,
    gcTime: 0,
  });
}

/** Changes the receiver, and reads it again. */
export async function changeReceiver(
  queries: QueryClient,
  path: "" | "/notifications" | "/proofs" | `/proofs/${number}`,
  proof?: string,
): Promise<void> {
  const isAdded = proof !== undefined;
  await ask(path, { method: isAdded ? "POST" : "DELETE", ...(isAdded && { body: JSON.stringify({ proof }) }) });
  await queries.invalidateQueries({ queryKey: KEY });
}

async function ask(path: string, init: RequestInit): Promise<Response> {
  const answer = await ownFetch(apiUrl(`receiver${path}`), init);
  if (!answer.ok) throw new Error(await reasonOf(answer));
  return answer;
}

async function reasonOf(answer: Response): Promise<string> {
  const said = (await answer.json().catch(() => undefined)) as { readonly error?: unknown } | undefined;
  return typeof said?.error === "string" ? said.error : `The server answered ${answer.status}.`;
}
