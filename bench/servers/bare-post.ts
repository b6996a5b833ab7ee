/**
 * The baseline of push notifications: undici alone posts, in as many loops as are asked for. Arguments: the port, how many, how many
 * at once, milliseconds between two (0: as fast as it goes).
 */
import { setTimeout as sleep } from "node:timers/promises";
import { Agent } from "undici";
import { chunkText, notification } from "./answers.js";
import { serve } from "./child.js";

const [, , port = "", count = "0", atOnce = "1", pauseMs = "0"] = process.argv;
const origin = `http://127.0.0.1:${port}`;
const agent = new Agent({ connections: Number(atOnce) });
const headers = {
  "content-type": "application/a2a+json",
  "x-a2a-notification-token": "token",
  "a2a-version": "1.0",
  "user-agent": "parley",
  "parley-generation": "1",
  "parley-config": "c",
  "webhook-id": "evt_123456789012345678901234567",
  "webhook-timestamp": "1700000000",
};

let left = Number(count);
async function loop(): Promise<void> {
  while (left-- > 0) {
    // One that is timed says when it was made, which costs the receiver more than all the rest of it.
    const body = notification(pauseMs === "0" ? chunkText(left % 20, 40) : `sent:${process.hrtime.bigint()}`);
    const answer = await agent.request({ origin, path: "/bare", method: "POST", headers, body });
    await answer.body.dump();
    if (pauseMs !== "0") await sleep(Number(pauseMs));
  }
}

serve({ http: 0, rpcPath: "/", restPath: "" }, () => {
  for (let i = 0; i < Number(atOnce); i++) void loop();
});
