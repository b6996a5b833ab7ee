import type { Page } from "playwright-core";
import { expect } from "vitest";
import type { OpenedConsole } from "./open.js";

/** Timeout that allows for a busy machine. */
export const PATIENCE = { timeout: 30_000 };

/** Opens a conversation with an agent. */
export async function talkTo({ go, page, server }: OpenedConsole, url: string = server.url, more = ""): Promise<void> {
  await go(`talk?agent=${encodeURIComponent(url)}${more}`);
  await boxOf(page).waitFor(PATIENCE);
}

/** The message box of a conversation, by default the first one. */
export const boxOf = (page: Page, at = 0) => page.getByRole("textbox", { name: "Message", exact: true }).nth(at);

/** Types and sends a text. */
export async function say(page: Page, text: string, at = 0): Promise<void> {
  await boxOf(page, at).fill(text);
  await boxOf(page, at).press("Enter");
}

/** Waits until the last task reaches a state. */
export async function reaches(page: Page, state: string): Promise<void> {
  await expect.poll(() => page.locator("article footer").last().textContent(), PATIENCE).toContain(state);
}

/** Sends a text and waits for the end of its task. */
export async function tell(page: Page, text: string, state = "Completed"): Promise<void> {
  const before = await page.locator("article").count();
  await say(page, text);
  await expect.poll(() => page.locator("article").count(), PATIENCE).toBe(before + 1);
  await reaches(page, state);
}

/** The text of the last task or message. */
export const lastOf = (page: Page) => page.locator("article").last();

/** True if an agent's script has run. Each one marks the page, even from a frame. */
export const isHarmed = (page: Page): Promise<unknown> => page.evaluate("window.harmed === true");

/** True if the page is not wider than the window. */
export const fitsIn = (page: Page): Promise<unknown> =>
  page.evaluate("document.documentElement.scrollWidth <= innerWidth");
