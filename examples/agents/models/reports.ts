import { type LanguageModel, tool } from "ai";
import type { Agent } from "parley-a2a";
import { aiAgent, askUser } from "parley-a2a/ai";
import { openIdConnectScheme } from "parley-a2a/auth";
import { z } from "zod";

/** Writes reports as files, for the users of an OpenID Connect provider. */
export const reports = (model: LanguageModel, issuer: string): Agent =>
  aiAgent({
    card: { name: "Reports", description: "Writes reports.", version: "1.0.0" },
    security: { schemes: { sso: openIdConnectScheme({ issuer, audience: "reports" }) }, require: ["sso"] },
    model,
    system: "Write the report that the user wants, and save it. Ask if its subject is missing.",
    tools: {
      ask: askUser(),
      save: tool({
        description: "Saves a report as a file in Markdown.",
        inputSchema: z.object({ name: z.string(), text: z.string() }),
        execute: ({ name, text }) => ({ file: { name, mediaType: "text/markdown", bytes: Buffer.from(text) } }),
      }),
    },
  });
