import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { connect, dataOf, TaskState } from "../../src/client/index.js";
import { axeFindings } from "./console/axe.js";
import { boxOf, isHarmed, lastOf, PATIENCE, reaches, say, talkTo, tell } from "./console/talk.js";
import { contentAgent, useConsole } from "./console/use-console.js";

const folder = mkdtempSync(join(tmpdir(), "parley-console-"));

const used = useConsole({ agent: contentAgent });

describe("content that means harm", () => {
  it("is shown without running or loading anything: Markdown, SVG, HTML, false PDF", async () => {
    const { page, foreign } = used.opened;
    await talkTo(used.opened);
    await tell(page, "markdown");
    const text = lastOf(page);
    await text.getByRole("heading", { name: "A title", level: 2 }).waitFor(PATIENCE);
    expect(await text.getByRole("link", { name: "good link" }).getAttribute("rel")).toBe("noreferrer noopener");
    expect(await text.locator("span[title^='javascript:']").first().textContent()).toBe("bad link");
    expect(await text.textContent()).toContain("<script>");
    await tell(page, "svg");
    await lastOf(page).locator("img[src^='blob:']").waitFor(PATIENCE);
    await tell(page, "html");
    for (const show of await lastOf(page).getByRole("button", { name: "Show", exact: true }).all()) await show.click();
    expect(await page.locator("iframe:not([src^='blob:'])").count()).toBe(0);
    expect(await isHarmed(page)).toBe(false);
    expect(foreign).toEqual([]);
    expect(await page.locator("[href^='javascript']").count()).toBe(0);
  });

  it("is stored under a safe name", async () => {
    const { page } = used.opened;
    await talkTo(used.opened);
    await tell(page, "names");
    const download = page.waitForEvent("download");
    await page
      .getByRole("button", { name: /^Download/ })
      .last()
      .click();
    expect((await download).suggestedFilename()).toBe("passwd.txt");
  });

  it("is shown in part where it is deep or long", async () => {
    const { page } = used.opened;
    await talkTo(used.opened);
    await tell(page, "deep");
    await lastOf(page).getByText("level 29").first().waitFor(PATIENCE);
    for (let level = 28; level > 18; level--)
      await lastOf(page)
        .getByRole("button", { name: new RegExp(`^level ${level}\\b`) })
        .click();
    await lastOf(page).getByText("level 18").first().waitFor(PATIENCE);
    expect(await lastOf(page).locator("button").count()).toBeLessThan(100);
    await tell(page, "text");
    expect((await lastOf(page).textContent())?.length).toBeLessThan(100_000);
    await lastOf(page)
      .getByRole("button", { name: /^Show more/ })
      .click();
    expect(await axeFindings(page)).toEqual([]);
  });

  it("does not hang the page with 52 MB of files, and keeps none of them as text", async () => {
    const { page } = used.opened;
    await talkTo(used.opened);
    await tell(page, "large");
    expect(await lastOf(page).locator("figure figure").count()).toBe(13);
    // The page still works: another task runs.
    await tell(page, "table");
    expect(await page.evaluate("JSON.stringify(localStorage).length")).toBeLessThan(100_000);
    expect(await page.evaluate("document.body.innerHTML.length")).toBeLessThan(1_000_000);
  });
});

describe("data, code and versions", () => {
  it("shows a list of objects as a table, and as a tree", async () => {
    const { page } = used.opened;
    await talkTo(used.opened);
    await tell(page, "table");
    const headings = lastOf(page).getByRole("columnheader");
    await expect.poll(() => headings.allTextContents(), PATIENCE).toEqual(["name", "age", "left"]);
    await lastOf(page).getByRole("button", { name: "Tree" }).click();
    await lastOf(page).getByText("Ann").waitFor(PATIENCE);
    expect(await headings.count()).toBe(0);
  });

  it("colours code, and compares it with the version before by lines and words", async () => {
    const { page, faults } = used.opened;
    await talkTo(used.opened);
    await tell(page, "code 80");
    await lastOf(page).locator("code span[style*='color']").first().waitFor(PATIENCE);
    await tell(page, "code 8080");
    await lastOf(page)
      .getByRole("button", { name: /^Compare/ })
      .click();
    await expect.poll(() => lastOf(page).locator("mark").allTextContents(), PATIENCE).toEqual(["80", "8080"]);
    expect(await axeFindings(page)).toEqual([]);
    expect(faults).toEqual([]);
  });
});

describe("files", () => {
  it("go up by the picker, by dropping and by pasting, and come back to be shown and stored", async () => {
    const { page } = used.opened;
    await talkTo(used.opened);
    const path = join(folder, "notes.txt");
    writeFileSync(path, "some notes");
    await page.getByLabel("Attach files").last().setInputFiles(path);
    const transfer = (type: string, data: string): string => `
      const files = new DataTransfer();
      files.items.add(new File(["x,y"], "table.csv", { type: "text/csv" }));
      document.querySelector("form textarea").dispatchEvent(
        new ${type}(${data}, { bubbles: true, cancelable: true, dataTransfer: files, clipboardData: files }));`;
    await page.evaluate(`{${transfer("DragEvent", '"drop"')}}`);
    await page.evaluate(`{${transfer("ClipboardEvent", '"paste"')}}`);
    await expect.poll(() => page.getByRole("button", { name: /^Remove/ }).count(), PATIENCE).toBe(3);
    await page
      .getByRole("button", { name: /^Remove table/ })
      .last()
      .click();
    await tell(page, "back");
    expect(await lastOf(page).textContent()).toContain("3 parts");
    await lastOf(page).getByText("some notes").last().waitFor(PATIENCE);
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download notes.txt" }).last().click();
    expect(readFileSync(await (await download).path(), "utf8")).toBe("some notes");
  });

  it("of other servers are links, and come through the relay after a click", async () => {
    const { page, foreign } = used.opened;
    const asked: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      asked.push(request.headers.cookie);
      response
        .setHeader("content-type", "image/svg+xml")
        .end("<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>");
    });
    await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/drawing.svg`;
    await talkTo(used.opened);
    await tell(page, `link ${url}`);
    await lastOf(page).getByText("A link that is not opened").waitFor(PATIENCE);
    expect(asked).toEqual([]);
    await lastOf(page).getByRole("button", { name: "Show here" }).click();
    await lastOf(page).locator("img[src^='blob:']").waitFor(PATIENCE);
    expect(asked).toEqual([undefined]);
    expect(foreign).toEqual([]);
    server.close();
  });

  it("of data are written in an editor of JSON", async () => {
    const { page, faults } = used.opened;
    await talkTo(used.opened);
    await page.getByRole("button", { name: "Add data as JSON" }).click();
    const editor = page.getByRole("textbox", { name: "Data as JSON" });
    await editor.waitFor(PATIENCE);
    await page.keyboard.type('{"colour": ');
    await page.getByText("This is not JSON yet").waitFor(PATIENCE);
    // Text typed over a selection inherits no style.
    await page.keyboard.press("ControlOrMeta+A");
    await page.keyboard.type('{"colour": "blue", "count": 2, "isNew": true}');
    // Members, texts, numbers, words and signs have different colours.
    const colours = `new Set([...document.querySelectorAll(".cm-line span")].map((each) => getComputedStyle(each).color))`;
    for (const colorScheme of ["dark", "light"] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await page.evaluate(`${colours}.size`)).toBeGreaterThanOrEqual(5);
      expect(await axeFindings(page)).toEqual([]);
    }
    await say(page, "back");
    await reaches(page, "Completed");
    expect(await lastOf(page).textContent()).toContain("colour");
    expect(faults).toEqual([]);
  });
});

describe("forms", () => {
  it("of JSON Schema show faults at their fields, have defaults, and leave a card of what was sent", async () => {
    const { page, faults } = used.opened;
    await talkTo(used.opened);
    await tell(page, "form", "Input required");
    const field = (name: string) => page.getByLabel(name, { exact: false }).last();
    await field("City").waitFor(PATIENCE);
    expect(await field("City").inputValue()).toBe("Rome");
    expect(await field("Guests").inputValue()).toBe("2");
    const submit = lastOf(page).getByRole("button", { name: "Send", exact: true });
    await field("City").fill("x");
    await field("Guests").fill("10");
    await field("E-mail").fill("nobody");
    // The page does not check the agent's pattern, which would take forever.
    await field("Code").fill(`${"a".repeat(40)}!`);
    await submit.click();
    const text = () => lastOf(page).textContent();
    await expect.poll(text, PATIENCE).toContain("At least 2 characters.");
    for (const fault of ["At most 9.", "This is not a valid email.", "Please fill this in."])
      expect(await text()).toContain(fault);
    expect(await field("City").getAttribute("aria-invalid")).toBe("true");
    expect(await axeFindings(page)).toEqual([]);
    await field("City").fill("Lima");
    await field("Guests").fill("3");
    await field("E-mail").fill("");
    await field("Code").fill("");
    await field("Day").fill("2027-05-02");
    await field("Class").selectOption({ label: "second" });
    await submit.click();
    await reaches(page, "Completed");
    for (const sent of ["Sent", "City", "Lima", "2027-05-02", "second"]) expect(await text()).toContain(sent);
    expect(faults).toEqual([]);
  });

  it("are declined", async () => {
    const { page } = used.opened;
    await talkTo(used.opened);
    await tell(page, "form", "Input required");
    await page.getByRole("button", { name: "Decline" }).click();
    await reaches(page, "Failed");
    expect(await lastOf(page).textContent()).toContain("The form was declined.");
  });

  it("of the first samples of A2A are filled in, and declined by their text", async () => {
    const { page } = used.opened;
    await talkTo(used.opened);
    await tell(page, "oldform", "Input required");
    const date = page.getByLabel("Date").last();
    await date.waitFor(PATIENCE);
    expect(await page.getByLabel("Amount").last().inputValue()).toBe("20");
    const submit = lastOf(page).getByRole("button", { name: "Send", exact: true });
    await submit.click();
    await expect.poll(() => lastOf(page).textContent(), PATIENCE).toContain("Please fill this in.");
    await date.fill("2027-05-02");
    await submit.click();
    await reaches(page, "Completed");
    expect(await lastOf(page).textContent()).toContain('You sent {"date":"2027-05-02","amount":"20"}');
    await tell(page, "oldform", "Input required");
    await page.getByRole("button", { name: "Decline" }).click();
    await reaches(page, "Completed");
    expect(await lastOf(page).textContent()).toContain("You sent rejected form entry");
    await boxOf(page).waitFor(PATIENCE);
  });
});

describe("a form in the inbox", () => {
  it("is filled in by an operator in place of the owner, or answered by a text", async () => {
    const { page, server, faults } = used.opened;
    const client = await connect(server.url);
    const { task } = await client.send("form");
    const id = task?.id ?? "";
    await used.opened.go("operate/inbox");
    const card = page.locator(`[data-inbox="${id}"]`);
    await card.getByText("Where to?").waitFor(PATIENCE);
    const city = card.getByLabel("City");
    expect(await city.inputValue()).toBe("Rome");
    await card.getByRole("button", { name: "Send", exact: true }).click();
    await card.getByText("Please fill this in.").first().waitFor(PATIENCE);
    expect(await axeFindings(page)).toEqual([]);
    await card.getByRole("button", { name: "Answer by a text" }).click();
    await card.getByRole("textbox", { name: "Answer" }).waitFor(PATIENCE);
    await card.getByRole("button", { name: "Answer by the form" }).click();
    await city.fill("Oslo");
    await card.getByLabel("Day").fill("2027-05-02");
    await card.getByLabel("Class").selectOption({ label: "first" });
    await card.getByRole("button", { name: "Send", exact: true }).click();
    await card.waitFor({ ...PATIENCE, state: "detached" });
    await expect.poll(async () => (await client.getTask({ id })).status?.state).toBe(TaskState.COMPLETED);
    expect(dataOf(await client.getTask({ id }))).toMatchObject([{ city: "Oslo", day: "2027-05-02", class: "first" }]);
    await client.close();
    expect(faults).toEqual([]);
  });
});

describe("a surface of A2UI", () => {
  it("is drawn for an agent that offers it, and its action goes back as a message", async () => {
    const { page, foreign, faults } = used.opened;
    await talkTo(used.opened);
    await tell(page, "surface", "Input required");
    const field = page.getByLabel("Your name");
    await field.waitFor(PATIENCE);
    expect(await field.inputValue()).toBe("Ann");
    await page.getByRole("button", { name: "Load the image" }).waitFor(PATIENCE);
    expect(await axeFindings(page)).toEqual([]);
    await field.fill("Bob");
    await page.getByRole("button", { name: "Greet me" }).click();
    await reaches(page, "Completed");
    const text = await lastOf(page).textContent();
    expect(text).toContain("Action: greet");
    expect(text).toMatch(/"name":"greet","surfaceId":"s1".*"context":\{"name":"Bob"\}/);
    expect(foreign).toEqual([]);
    expect(faults).toEqual([]);
  });
});
