import { afterEach, describe, expect, it } from "vitest";
import { runIn } from "../cli/a2a/world.js";
import { freePort } from "../support/free-port.js";
import { KEY, type Started, servers } from "./support/servers.js";

describe.each(Object.entries(servers))("notifications of an agent served with %s", (_name, start) => {
  let server: Started | undefined;
  const stop = new AbortController();
  afterEach(async () => {
    stop.abort("SIGINT");
    await server?.stop();
  });

  it("are verified and printed by parley listen, and by no other token", async () => {
    const [port, other] = [await freePort(), await freePort()];
    const token = "token-of-the-tests-0123456789";
    let [printed, heard, told] = ["", "", ""];
    const listening = [
      runIn(["listen", "--port", `${port}`, "--token", token, "-o", "json"], {
        interrupted: stop.signal,
        onOutput: (stream, text) => {
          if (stream === "out") printed += text;
          else heard += text;
        },
      }),
      runIn(["listen", "--port", `${other}`, "--token", "another-token-of-the-tests"], {
        interrupted: stop.signal,
        onOutput: (_, text) => {
          told += text;
        },
      }),
    ];
    await expect
      .poll(() => [heard, told], { timeout: 20_000 })
      .toEqual(Array(2).fill(expect.stringContaining("Listening at")));
    for (const to of [port, other]) {
      server = await start({ pushPort: to });
      const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: "wait 100" }] };
      const taskPushNotificationConfig = { url: `http://127.0.0.1:${to}/`, token };
      const request = JSON.stringify({ message, configuration: { taskPushNotificationConfig } });
      const call = ["call", "SendMessage", request, "-a", server.url];
      // Some servers report that they are ready a moment too early.
      const ended = () => runIn(call, { env: { A2ACLI_API_KEY: KEY } }).then(({ exit }) => exit);
      await expect.poll(ended, { timeout: 20_000 }).toBe(0);
      if (to === port) await expect.poll(() => printed, { timeout: 20_000 }).toContain("TASK_STATE_COMPLETED");
      else await expect.poll(() => told, { timeout: 20_000 }).toContain("warning: refused: ");
      await server.stop();
    }
    const proofs = printed
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).proof);
    expect(new Set(proofs)).toEqual(new Set(["token"]));
    expect(told).not.toContain("Task ID");
    stop.abort("SIGINT");
    expect((await Promise.all(listening)).map(({ exit }) => exit)).toEqual([0, 0]);
  });
});
