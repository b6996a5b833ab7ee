import type { Agent } from "parley-a2a";
import { completed } from "parley-a2a/events";
import { places } from "./tour.js";

/** Addresses of the demo, for the guide. */
export interface Demo {
  /** Address of the console, with a slash at its end. */
  readonly console: string;
  /** URLs of the agents by the names of their cards. */
  readonly agents: Readonly<Record<string, string>>;
}

/** The place that a conversation is at, from 0; absent before the first. */
interface Visit {
  readonly at: number;
}

/** Makes an agent that shows the console, one place after the other. */
export function guideOf(demo: Demo): Agent {
  return {
    card: {
      name: "Guide",
      description: "Shows the console, one place after the other. Say next, back, or the number of a place.",
      version: "1.0.0",
      defaultOutputModes: ["text/markdown"],
      skills: [
        {
          id: "tour",
          name: "Tour",
          description: "Tells what to try at each place, with a link that opens it.",
          tags: ["console", "tour"],
          examples: ["start", "next", "back", "3"],
        },
      ],
    },
    async *execute({ text, conversation }) {
      let shown = 0;
      await conversation.state.update<Visit>((before) => {
        shown = placeAfter(text, before?.at);
        return { at: shown };
      });
      yield completed(tell(demo, shown));
    },
  };
}

/** Returns the place that a message asks for. Everything but a number and "back" asks for the next one. */
function placeAfter(text: string, at: number | undefined): number {
  const asked = Number(text.trim());
  if (Number.isInteger(asked) && asked >= 1 && asked <= places.length) return asked - 1;
  if (at === undefined || /^\s*start\b/i.test(text)) return 0;
  return /^\s*back\b/i.test(text) ? Math.max(0, at - 1) : Math.min(places.length - 1, at + 1);
}

/** Returns a place as Markdown. */
function tell({ console, agents }: Demo, index: number): string {
  const place = places[index];
  if (place === undefined) return "";
  const { title, text, talk, page } = place;
  const url = talk && agents[talk.agent];
  const to = url === undefined ? page : `talk?${new URLSearchParams({ agent: url, text: talk?.say ?? "" })}`;
  const say = talk && `Say to **${talk.agent}**: ${talk.say}`;
  const isLast = index === places.length - 1;
  const end = isLast ? "That was the last place." : "Say **next** to go on.";
  const link = to === undefined ? undefined : `[Open it](${console}${to})`;
  return [`**${index + 1}. ${title}**`, text, say, link, end].filter((each) => each !== undefined).join("\n\n");
}
