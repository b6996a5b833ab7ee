import { describe, expect, it } from "vitest";
import { apiPage } from "./api-page.js";

describe("docs/api.md", () => {
  it("lists the exports of the entry points", async () => {
    await expect(apiPage()).toMatchFileSnapshot("../../docs/api.md");
  });
});
