import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";

/** Tokens of two operators. */
export const tokens = { write: "w".repeat(40), read: "r".repeat(40) };

/** Flags of a server with an operator's service and two operators. */
export function operatorFlags(): readonly string[] {
  const path = join(mkdtempSync(join(tmpdir(), "parley-console-")), "tokens");
  writeFileSync(path, `ops write ${tokens.write}\nviewer read ${tokens.read}\n`, { mode: 0o600 });
  return ["--admin", "127.0.0.1:0", "--admin-tokens", path];
}

/** Logs the operator of a window out and another one in. */
export async function logInAs(page: Page, role: "read" | "write"): Promise<void> {
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByLabel("Token of an operator").fill(tokens[role]);
  await page.getByRole("button", { name: "Log in" }).last().click();
  await page.waitForSelector("nav");
}

let last = 0;

/** Sends a message without waiting for its task to end. Returns the task's id. */
export async function send(url: string, text: string, message: object = {}): Promise<string> {
  const parts = [{ text }];
  const answer = await fetch(`${url}/message:send`, {
    method: "POST",
    headers: { "content-type": "application/json", "a2a-version": "1.0" },
    body: JSON.stringify({
      message: { messageId: `message ${++last}`, role: "ROLE_USER", parts, ...message },
      configuration: { returnImmediately: true },
    }),
  });
  const body = (await answer.json()) as { readonly task?: { readonly id: string } };
  if (body.task === undefined) throw new Error(`No task: ${JSON.stringify(body)}`);
  return body.task.id;
}
