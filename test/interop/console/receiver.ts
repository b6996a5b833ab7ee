import type { Page } from "playwright-core";
import { bodyOf } from "../../push-receiver/world.js";

/** The address of a session's receiver, and its token. */
export interface OwnReceiver {
  readonly address: string;
  readonly token: string;
}

export const receiverOf = (page: Page): Promise<OwnReceiver> =>
  page.evaluate<OwnReceiver>(
    `fetch(new URL("api/receiver", document.baseURI), { method: "POST" }).then((answer) => answer.json())`,
  );

/** Sends a notification like an agent. Returns the status of the answer. */
export async function post(
  { address, token }: OwnReceiver,
  headers: Record<string, string> = {},
  body: string = bodyOf("task-1", "hello"),
): Promise<number> {
  const own = { "content-type": "application/a2a+json", "x-a2a-notification-token": token };
  return (await fetch(address, { method: "POST", headers: { ...own, ...headers }, body })).status;
}

const artifact = JSON.stringify({
  artifactUpdate: {
    taskId: "task-1",
    contextId: "context-1",
    artifact: { artifactId: "plan", name: "Plan", parts: [{ text: "1. **Pack** the boxes\n2. Call the carrier" }] },
    lastChunk: true,
  },
});

/** Fills the receiver of a page's session: events with the token, a test event and a forged one. */
export async function fillReceiver(page: Page): Promise<void> {
  const own = await receiverOf(page);
  await post(own, {}, bodyOf("task-1", "Looking for a carrier"));
  await post(own, { authorization: "Bearer of-the-agent" }, artifact);
  await post(own, { "parley-test": "true" });
  await post({ ...own, token: "forged" });
}
