import { rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect } from "../../src/client/index.js";
import { createPushSigner } from "../../src/push/signature/signer.js";
import { keyPair } from "../card/signing/keys.js";
import { Home, type ServerProcess } from "../e2e/support/server-process.js";
import { bodyOf, idOf } from "../push-receiver/world.js";
import { freePort } from "../support/free-port.js";
import { closeWindows, launch } from "./browser/chromium.js";
import { axeFindings } from "./console/axe.js";
import { buildConsole } from "./console/build.js";
import { type OpenedConsole, openConsole } from "./console/open.js";
import { type OwnReceiver, post, receiverOf } from "./console/receiver.js";
import { fitsIn, PATIENCE, reaches, say, talkTo } from "./console/talk.js";

const key = keyPair("ES256");
const keyFile = join(tmpdir(), `parley-receiver-${process.pid}.pem`);

let browser: Browser;
/** The console of a server whose own agent sends it notifications. */
let opened: OpenedConsole;
/** An agent that signs its notifications. */
let signing: Home;
let signer: ServerProcess;
/** An agent that notifies only public addresses, which is the default. */
let strict: Home;
let refuser: ServerProcess;

beforeAll(async () => {
  buildConsole();
  writeFileSync(keyFile, key.pem, { mode: 0o600 });
  const [port, signerPort] = [await freePort(), await freePort()];
  const push = ["--push", "--push-allow-http", "--push-ports", String(port), "--push-allow", "127.0.0.1"];
  const named = ["--port", String(signerPort), "--public-url", `http://127.0.0.1:${signerPort}`];
  signing = new Home(...push, ...named, "--push-signing-key", keyFile);
  strict = new Home("--push");
  browser = await launch();
  [signer, refuser, opened] = await Promise.all([
    signing.start(),
    strict.start(),
    openConsole(browser, { flags: ["--port", String(port), ...push] }),
  ]);
});

afterAll(async () => {
  await opened?.close();
  await signing?.leave();
  await strict?.leave();
  await closeWindows(browser);
  rmSync(keyFile, { force: true });
});

const rows = (page: Page) => page.getByRole("grid", { name: "Notifications" }).getByRole("row");

/** Opens the newest notification with a text, by a click beside its links. */
async function openRow(page: Page, text: string) {
  await rows(page)
    .filter({ hasText: text })
    .first()
    .click({ position: { x: 30, y: 15 } });
  return page.getByRole("dialog", { name: "Notification" });
}

describe("the receiver of the console", () => {
  it("gets the notifications of a conversation's next message, live and newest first", async () => {
    const { page, go, server } = opened;
    await talkTo(opened);
    const bell = page.getByRole("button", { name: "Notify the receiver of the next message" });
    await bell.click();
    expect(await bell.getAttribute("aria-pressed")).toBe("true");
    await say(page, "stream 2 5 20");
    await reaches(page, "Completed");
    expect(await bell.getAttribute("aria-pressed")).toBe("false");
    await page.getByRole("link", { name: "Receiver of notifications" }).click();
    await expect.poll(() => rows(page).nth(1).textContent(), PATIENCE).toContain("Completed");
    expect(await rows(page).nth(1).textContent()).toContain("Token");
    const { token, address } = await receiverOf(page);
    expect(await page.content()).toContain(address);
    expect(await page.content()).not.toContain(token);
    await post({ address, token: "another" });
    // The list updates without a reload.
    await expect.poll(() => rows(page).nth(1).textContent(), PATIENCE).toContain("Refused");
    expect(await axeFindings(page)).toEqual([]);
    await page
      .getByRole("link", { name: /^[0-9a-f-]{36}$/ })
      .first()
      .click();
    await page.waitForURL(/\/talk\?/);
    expect(new URL(page.url()).searchParams.get("agent")).toBe(server.url);
    await reaches(page, "Completed");
    await go("receiver");
  });

  it("shows the event of a notification, and beside it what arrived without secrets", async () => {
    const { page, go } = opened;
    await go("receiver");
    const own = await receiverOf(page);
    const headers = { authorization: "Bearer of-the-sender" };
    expect(await post(own, headers, bodyOf("task-1", "**bold** words"))).toBe(204);
    await expect.poll(() => rows(page).nth(1).textContent(), PATIENCE).toMatch(/Token.*Working/);
    const dialog = await openRow(page, "Working");
    await dialog.locator("strong", { hasText: "bold" }).waitFor();
    const text = (await dialog.textContent()) ?? "";
    expect(text).toContain('"statusUpdate"');
    expect(text).toContain("authorization[redacted]");
    expect(text).toContain("x-a2a-notification-token[redacted]");
    expect(text).not.toContain("of-the-sender");
    expect(page.url()).toMatch(/open=\d+/);
    expect(await axeFindings(page)).toEqual([]);
    await page.reload();
    await page.getByRole("dialog", { name: "Notification" }).getByText("Verified").waitFor();
  });

  it("tells why a notification is refused", async () => {
    const { page, go } = opened;
    await go("receiver");
    const own = await receiverOf(page);
    expect(await post({ ...own, token: "wrong" })).toBe(403);
    const dialog = await openRow(page, "The X-A2A-Notification-Token is missing or wrong.");
    await dialog.getByText("Refused with 403").waitFor();
    await page.keyboard.press("Escape");
    expect(await post(own, {}, "not JSON")).toBe(400);
    await rows(page).filter({ hasText: "is not JSON in UTF-8" }).waitFor();
  });

  it("verifies the JWTs of an agent whose task it is registered for, and refuses a forged one", async () => {
    const { page, go } = opened;
    await talkTo(opened, signer.url);
    await say(page, "ask Which colour?");
    await reaches(page, "Input required");
    await page.getByRole("button", { name: "Notify the receiver", exact: true }).click();
    await page.getByRole("button", { name: "Stop notifying the receiver" }).waitFor();
    await say(page, "red");
    await reaches(page, "Completed");
    await go("receiver");
    await expect.poll(() => rows(page).nth(1).textContent(), PATIENCE).toMatch(/Signed.*Completed/);
    const genuine = await openRow(page, "Signed");
    await genuine.getByText(`Parley-Signature: JWT of ${signer.url}`).waitFor();
    await genuine.getByRole("link", { name: signer.url }).waitFor();
    await page.keyboard.press("Escape");
    const own = await receiverOf(page);
    expect(await post(own, await forged(own))).toBe(403);
    await expect.poll(() => rows(page).nth(1).textContent(), PATIENCE).toContain("Refused");
    expect(await rows(page).nth(1).textContent()).toContain("The token is signed with an unknown key.");
  });

  it("is removed from a task by a click", async () => {
    const { page, go } = opened;
    const client = await connect(signer.url);
    try {
      const { task } = await client.send("ask Which size?");
      const taskId = task?.id ?? "";
      await go(`receiver?agent=${encodeURIComponent(signer.url)}`);
      await page.getByRole("textbox", { name: "Task id" }).fill(taskId);
      await page.getByRole("button", { name: "Register" }).click();
      const stop = page.getByRole("button", { name: `Stop the notifications of task ${taskId}` });
      await stop.waitFor();
      const { address } = await receiverOf(page);
      expect((await client.listTaskPushNotificationConfigs({ taskId })).configs).toMatchObject([{ url: address }]);
      expect(await axeFindings(page)).toEqual([]);
      await stop.click();
      await stop.waitFor({ state: "detached" });
      expect((await client.listTaskPushNotificationConfigs({ taskId })).configs).toEqual([]);
    } finally {
      await client.close();
    }
  });

  it("tells what an agent refuses, and the flags that permit it", async () => {
    const { page, go } = opened;
    const client = await connect(refuser.url);
    const { task } = await client.send("ask Which shape?");
    await client.close();
    await go(`receiver?agent=${encodeURIComponent(refuser.url)}`);
    await page.getByRole("textbox", { name: "Task id" }).fill(task?.id ?? "");
    await page.getByRole("button", { name: "Register" }).click();
    await page.getByRole("alert").getByText("The receiver could not be registered:").waitFor();
    const { port } = new URL(page.url());
    await page.getByText(`--push --push-allow-http --push-ports ${port} --push-allow 127.0.0.1`).waitFor();
  });

  it("tells that an agent elsewhere cannot reach a console on this machine", async () => {
    const { page, go } = opened;
    await go("receiver?agent=https://agents.example");
    await page.getByText("which only this machine reaches").waitFor();
  });

  it("checks by keys that are added, and tells which are none", async () => {
    const { page, go } = opened;
    await go("receiver");
    const field = page.getByRole("textbox", { name: "Agent's URL, whsec_… or whpk_…" });
    await field.fill("whsec_AAAA");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByText("must have 24 to 64 bytes").waitFor();
    await field.fill("https://agents.example");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByRole("button", { name: "Do not check by https://agents.example anymore" }).click();
    await expect.poll(() => page.getByText("https://agents.example").count(), PATIENCE).toBe(0);
  });

  it("fits in 360 pixels", async () => {
    const { page, go } = opened;
    await page.setViewportSize({ width: 360, height: 740 });
    await go("receiver");
    await rows(page).nth(1).waitFor();
    expect(await fitsIn(page)).toBe(true);
    await (await openRow(page, "Signed")).getByText("As it arrived").waitFor();
    expect(await fitsIn(page)).toBe(true);
    expect(await axeFindings(page)).toEqual([]);
    await page.setViewportSize({ width: 1_280, height: 900 });
  });

  it("empties its list, and takes another address", async () => {
    const { page, go } = opened;
    await go("receiver");
    const before = await receiverOf(page);
    await page.getByRole("button", { name: "Clear" }).click();
    await page.getByText("Nothing has arrived yet").waitFor();
    await page.getByRole("button", { name: "New address" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "New address" }).click();
    await expect.poll(async () => (await receiverOf(page)).address, PATIENCE).not.toBe(before.address);
    expect(await post(before)).toBe(404);
    await post(await receiverOf(page));
    await expect.poll(() => rows(page).nth(1).textContent(), PATIENCE).toContain("Working");
  });
});

/** Headers signed by another key in the agent's name. */
async function forged({ address, token }: OwnReceiver): Promise<Record<string, string>> {
  const [taskId, configId, generation] = ["task-1", "config-1", 1];
  const other = await createPushSigner({
    signing: { keys: [{ key: keyPair("ES256").pem }] },
    issuer: () => signer.url,
  });
  const facts = { taskId, configId, generation, time: Date.now(), url: address, token };
  return {
    ...(await other.headers({ ...facts, id: idOf(taskId, configId, generation), body: bodyOf(taskId, "hello") })),
  };
}
