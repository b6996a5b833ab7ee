import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { type Answer, Receiver } from "../../push/receiver.js";
import { type OpenedConsole, openConsole } from "./open.js";

/** A token for each role. */
const tokens = { read: "r".repeat(40), write: "w".repeat(40) } as const;

/** A server with two operators, a receiver of notifications, and the console. */
export interface OperatedConsole extends OpenedConsole {
  readonly receiver: Receiver;
  /** Folder for backups. */
  readonly folder: string;
  /** Sends a message to the agent, and returns its task. */
  send(text: string, more?: SendOptions): Promise<SentTask>;
  /** Opens the console in another window as an operator with this role. */
  openAs(role: keyof typeof tokens, window?: BrowserContextOptions): Promise<Page>;
}

export interface SentTask {
  readonly id: string;
  readonly contextId: string;
}

interface SendOptions {
  readonly contextId?: string;
  readonly referenceTaskIds?: readonly string[];
  /** Path at the receiver. It is also the id of the push configuration. */
  readonly hook?: string;
  readonly tenant?: string;
  readonly returnImmediately?: boolean;
}

/** Starts a server with operators and opens its console by the link. */
export async function openOperated(browser: Browser, answer: Answer): Promise<OperatedConsole> {
  const folder = mkdtempSync(join(tmpdir(), "parley-operated-"));
  const file = join(folder, "tokens");
  writeFileSync(file, `rita read ${tokens.read}\nwendy write ${tokens.write}\n`, { mode: 0o600 });
  const receiver = await Receiver.start(answer);
  const flags = [
    ...["--admin", "127.0.0.1:0", "--admin-tokens", file, "--admin-backups", folder],
    ...["--retention", "7d"],
    ...["--push", "--push-allow-http", "--push-ports", String(receiver.port), "--push-allow", "127.0.0.1"],
  ];
  const opened = await openConsole(browser, { flags });
  const { server, url } = opened;
  return {
    ...opened,
    receiver,
    folder,
    send: (text, more) => send(server.url, receiver, text, more),
    openAs: async (role, window) => {
      const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 }, ...window })).newPage();
      await page.goto(url);
      const field = page.getByLabel("Token of an operator");
      await field.fill(tokens[role]);
      await field.press("Enter");
      await page
        .getByRole("navigation")
        .or(page.getByRole("button", { name: "Menu" }))
        .first()
        .waitFor();
      return page;
    },
    close: async () => {
      await opened.close();
      await receiver.stop();
      rmSync(folder, { recursive: true });
    },
  };
}

async function send(
  url: string,
  receiver: Receiver,
  text: string,
  { hook, tenant, returnImmediately = false, ...more }: SendOptions = {},
): Promise<SentTask> {
  const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }], ...more };
  const taskPushNotificationConfig = hook === undefined ? undefined : { id: hook, url: receiver.url(`/${hook}`) };
  const answer = await fetch(`${url}${tenant === undefined ? "" : `/${tenant}`}/message:send`, {
    method: "POST",
    headers: { "content-type": "application/json", "a2a-version": "1.0" },
    body: JSON.stringify({ message, configuration: { returnImmediately, taskPushNotificationConfig } }),
  });
  const body = (await answer.json()) as { task?: SentTask };
  if (body.task === undefined) throw new Error(JSON.stringify(body));
  return body.task;
}
