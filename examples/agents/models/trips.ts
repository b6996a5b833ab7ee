import type { LanguageModel } from "ai";
import { aiAgent, askUser } from "parley-a2a/ai";
import { z } from "zod";

export const trips = (model: LanguageModel) =>
  aiAgent({
    card: { name: "Trips", description: "Books trips.", version: "1.0.0" },
    model,
    tools: {
      ask: askUser(),
      askDates: askUser({
        description: "Asks for the dates of the trip.",
        form: z.object({ from: z.iso.date(), to: z.iso.date() }),
      }),
    },
  });
