import { describe, expect, it } from "vitest";
import { GrowingText } from "../../src/ai/growing-text.js";

const about = { id: "answer", name: "answer" };
const appended = (text: string): object => ({ kind: "artifact", ...about, append: true, text });
const replaced = (text: string): object => ({ kind: "artifact", ...about, append: false, text });

describe("GrowingText", () => {
  it("appends each text, with a blank line between those of two calls", () => {
    const text = new GrowingText(about, "");
    text.next();
    expect(text.add("Hel")).toEqual(appended("Hel"));
    expect(text.add("lo.")).toEqual(appended("lo."));
    expect(text.add("")).toBeUndefined();
    text.next();
    expect(text.add("More.", true)).toEqual({ ...appended("\n\nMore."), lastChunk: true });
    expect(text.end()).toBeUndefined();
  });

  it("yields only what is not stored", () => {
    const text = new GrowingText(about, "Hello.\n\nMo");
    expect(text.add("Hello.")).toBeUndefined();
    text.next();
    expect(text.add("M")).toBeUndefined();
    expect(text.add("ore.")).toEqual(appended("re."));
    expect(text.end()).toBeUndefined();
  });

  it("replaces a stored text from the first difference on", () => {
    const text = new GrowingText(about, "Hello.");
    expect(text.add("Hel")).toBeUndefined();
    expect(text.add("p!")).toEqual(replaced("Help!"));
    expect(text.add(" Yes.")).toEqual(appended(" Yes."));
  });

  it("shortens a stored text that is longer at the end", () => {
    const text = new GrowingText(about, "Hello.");
    expect(text.add("Hell")).toBeUndefined();
    expect(text.end()).toEqual({ ...replaced("Hell"), lastChunk: true });
    expect(text.end()).toBeUndefined();
  });
});
