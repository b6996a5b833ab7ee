import { expect } from "vitest";

const json = { "content-type": "application/json" };

/** Sends a text over HTTP+JSON. Returns its task's id and state. */
export async function send(
  url: string,
  text: string,
  returnImmediately = false,
): Promise<{ id: string; state: string }> {
  const message = { messageId: "m", role: "ROLE_USER", parts: [{ text }] };
  const body = JSON.stringify({ message, configuration: { returnImmediately } });
  const response = await fetch(`${url}/message:send`, { method: "POST", headers: json, body });
  const { task } = (await response.json()) as { task: { id: string; status: { state: string } } };
  return { id: task.id, state: task.status.state };
}

export async function stateOf(url: string, id: string): Promise<string> {
  const response = await fetch(`${url}/tasks/${id}`);
  return ((await response.json()) as { status: { state: string } }).status.state;
}

/** Waits until the server has exactly one task. */
export async function hasTask(url: string): Promise<void> {
  const count = async (): Promise<number> => {
    const response = await fetch(`${url}/tasks`);
    return ((await response.json()) as { tasks: readonly unknown[] }).tasks.length;
  };
  await expect.poll(count).toBe(1);
}
