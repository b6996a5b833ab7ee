import type { QueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { agentQuery } from "../agents/client.js";
import { changeReceiver, type Receiver, receiverQuery } from "../api/receiver.js";

/** A task whose notifications an agent was asked to send to an address. */
export interface Registration {
  readonly address: string;
  readonly agent: string;
  readonly taskId: string;
}

/** Key in the storage of the tab, which lasts about as long as the session. */
const KEY = "parley-console-receiver";

/** Tasks that are remembered; the oldest are forgotten. */
const MAX = 200;

let all: readonly Registration[] = read();
const listeners = new Set<() => void>();

function read(): readonly Registration[] {
  try {
    const list: unknown = JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
    return Array.isArray(list) ? (list as Registration[]) : [];
  } catch {
    return [];
  }
}

function keep(list: readonly Registration[]): void {
  all = list.slice(-MAX);
  sessionStorage.setItem(KEY, JSON.stringify(all));
  for (const listener of listeners) listener();
}

const isSame = (one: Registration, other: Registration): boolean =>
  one.address === other.address && one.agent === other.agent && one.taskId === other.taskId;

/** Remembers that a task is registered. */
export function addRegistration(registration: Registration): void {
  if (!all.some((each) => isSame(each, registration))) keep([...all, registration]);
}

/** Returns the registrations of an address, or of all, for a component. */
export function useRegistrations(address?: string): readonly Registration[] {
  const known = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => all,
  );
  return address === undefined ? known : known.filter((each) => each.address === address);
}

/** Returns the receiver, which then checks the signatures of an agent. */
export async function receiverFor(queries: QueryClient, agent: string): Promise<Receiver> {
  const receiver = await queries.fetchQuery(receiverQuery);
  const isKnown = receiver.proofs.some(({ shown }) => shown === agent);
  // The keys of an agent without TLS cannot be trusted. Its token is checked.
  if (!isKnown) await changeReceiver(queries, "/proofs", agent).catch(() => {});
  return receiver;
}

/** Asks an agent to send the notifications of a task to the receiver. */
export async function register(queries: QueryClient, agent: string, taskId: string): Promise<void> {
  const { address, token } = await receiverFor(queries, agent);
  const client = await queries.fetchQuery(agentQuery(agent));
  await client.createTaskPushNotificationConfig({ taskId, url: address, token });
  addRegistration({ address, agent, taskId });
}

/** Takes that back: deletes the configurations of the task with the address. */
export async function unregister(queries: QueryClient, registration: Registration): Promise<void> {
  const { address, agent, taskId } = registration;
  const client = await queries.fetchQuery(agentQuery(agent));
  const { configs } = await client.listTaskPushNotificationConfigs({ taskId });
  for (const { id, url } of configs) {
    if (url === address) await client.deleteTaskPushNotificationConfig({ taskId, id });
  }
  keep(all.filter((each) => !isSame(each, registration)));
}
