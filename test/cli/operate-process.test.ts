import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { build } from "../e2e/support/build.js";
import { probe, ready, workplaces } from "./cli.js";

vi.setConfig({ testTimeout: 120_000 });

build();
const place = workplaces();

/** Sends a message that ends its task at once. */
async function send(url: string): Promise<void> {
  const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: "echo hi" }] };
  const headers = { "content-type": "application/json", "a2a-version": "1.0" };
  const answer = await fetch(`${url}/message:send`, { method: "POST", headers, body: JSON.stringify({ message }) });
  expect(answer.status).toBe(200);
}

describe("commands for operators, as processes", () => {
  it("end at SIGINT and with the reader of their output, and keep out of a file that is in use", async () => {
    const admin = `unix:${join(place.path, "admin.sock")}`;
    const served = await ready(place.run(["serve", probe, "--port", "0", "--grpc-port", "0", "--admin", admin]));
    const env = { PARLEY_ADMIN: admin };
    const [interrupted, closed] = [place.run(["tasks", "watch"], env), place.run(["tasks", "watch"], env)];
    const both = (): Promise<string[]> => send(served.url).then(() => [interrupted.stdout(), closed.stdout()]);
    await expect
      .poll(both, { timeout: 60_000 })
      .toEqual([expect.stringContaining("completed"), expect.stringContaining("completed")]);
    interrupted.child.kill("SIGINT");
    expect([await interrupted.exited, interrupted.stderr()]).toEqual([0, ""]);
    closed.child.stdout?.destroy();
    // The failed write of the next line ends the command.
    await send(served.url);
    expect([await closed.exited, closed.stderr()]).toEqual([0, ""]);

    const inUse = place.run(["tasks", "list", "--store", "parley.db"]);
    expect([await inUse.exited, inUse.stdout()]).toEqual([3, ""]);
    expect(inUse.stderr()).toMatch(/^parley: parley\.db is in use: .*--admin\)\n$/);
    const wrong = place.run(["push", "redrive"], env);
    expect([await wrong.exited, wrong.stderr()]).toEqual([2, "parley: give --task, or --all for all of them\n"]);
  });
});
