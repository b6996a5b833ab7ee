import { readFileSync } from "node:fs";
import type { Dialog } from "playwright-core";
import { describe, expect, it } from "vitest";
import { Receiver } from "../push/receiver.js";
import { axeFindings } from "./console/axe.js";
import { recorded, script, scriptedPdf, tone } from "./console/media.js";
import { isHarmed, lastOf, PATIENCE, talkTo, tell } from "./console/talk.js";
import { contentAgent, useConsole } from "./console/use-console.js";

const used = useConsole({ agent: contentAgent });

/** Sends a file to the agent, which returns it. */
async function exchange(name: string, mimeType: string, buffer: Buffer): Promise<void> {
  await talkTo(used.opened);
  await used.opened.page.getByLabel("Attach files").last().setInputFiles({ name, mimeType, buffer });
  await tell(used.opened.page, "back");
}

interface Player {
  readonly duration: number;
  readonly width: number;
  readonly time: number;
  readonly hasEnded: boolean;
}

/** Plays the last audio or video of the page to its end. */
async function played(kind: "audio" | "video"): Promise<Player> {
  const player = lastOf(used.opened.page).locator(`figure ${kind}`).last();
  await player.waitFor(PATIENCE);
  const element = await player.elementHandle();
  await used.opened.page.evaluate((node) => (node as unknown as { play(): Promise<void> }).play(), element);
  await expect.poll(async () => (await stateOf()).hasEnded, PATIENCE).toBe(true);
  return stateOf();

  function stateOf(): Promise<Player> {
    return used.opened.page.evaluate((node) => {
      const { duration, videoWidth: width = 0, currentTime: time, ended: hasEnded } = node as never;
      return { duration, width, time, hasEnded };
    }, element);
  }
}

describe("media of an agent", () => {
  it("plays a sound, by type or by the end of its name", async () => {
    await exchange("tone.wav", "audio/wav", tone(1));
    expect(await played("audio")).toMatchObject({ duration: 1, time: 1 });
    await exchange("other.wav", "", tone(2));
    expect(await played("audio")).toMatchObject({ duration: 2, time: 2 });
    expect(await axeFindings(used.opened.page)).toEqual([]);
    expect(used.opened.faults).toEqual([]);
  });

  it("plays a video", async () => {
    await exchange("square.webm", "video/webm", await recorded(used.browser));
    const { width, time } = await played("video");
    expect(width).toBe(64);
    expect(time).toBeGreaterThan(0);
    expect(await axeFindings(used.opened.page)).toEqual([]);
    expect(used.opened.faults).toEqual([]);
  });
});

describe("a PDF", () => {
  it("is shown in the browser's viewer after a click, where it can neither reach the page nor another host", async () => {
    const { page, foreign, faults } = used.opened;
    const other = await Receiver.start();
    const dialogs: string[] = [];
    const note = (dialog: Dialog): void => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    };
    page.on("dialog", note);
    await exchange("page.pdf", "application/pdf", scriptedPdf("A page to read", other.url("/")));
    await lastOf(page).getByText("Scripts in the PDF may open dialogs there.").last().waitFor(PATIENCE);
    const viewers = () => page.frames().filter((frame) => frame.url().startsWith("chrome-extension://"));
    expect([page.frames().length, dialogs]).toEqual([1, []]);
    await lastOf(page).getByRole("button", { name: "Show", exact: true }).last().click();
    await expect.poll(() => viewers().length, PATIENCE).toBe(1);
    // The last script has run, so those that call the other host have run before.
    await expect.poll(() => dialogs, PATIENCE).toEqual(["the end"]);
    expect(await isHarmed(page)).toBe(false);
    expect(page.context().pages()).toEqual([page]);
    expect([other.hits, foreign, faults]).toEqual([[], [], []]);
    page.off("dialog", note);
    await other.stop();
  });

  it("is a download where the browser has no viewer", async () => {
    const { page } = used.opened;
    await page.addInitScript("Object.defineProperty(navigator, 'pdfViewerEnabled', { value: false })");
    await exchange("page.pdf", "application/pdf", scriptedPdf("A page to read", "https://example.org/"));
    await lastOf(page).getByRole("button", { name: "Show", exact: true }).last().click();
    await lastOf(page).getByText("This browser shows no PDF in a page. Download it instead.").waitFor(PATIENCE);
    const download = page.waitForEvent("download");
    await lastOf(page).getByRole("button", { name: "Download page.pdf" }).last().click();
    expect(readFileSync(await (await download).path(), "latin1")).toMatch(/^%PDF-1.7/);
    expect(await page.locator("iframe").count()).toBe(0);
  });
});

describe("media that mean harm", () => {
  it.each([
    ["sound.wav", "audio/wav"],
    ["film.webm", "video/webm"],
    ["dot.png", "image/png"],
  ])("says that %s cannot be shown if it is HTML", async (name, type) => {
    await exchange(name, type, Buffer.from(`<script>${script}</script>`));
    await lastOf(used.opened.page)
      .getByText("The browser cannot show this file. Download it instead.")
      .last()
      .waitFor(PATIENCE);
    expect(await isHarmed(used.opened.page)).toBe(false);
    expect(used.opened.foreign).toEqual([]);
  });
});
