import type { AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { shellCommand, shownCredentials, shownQuery, titleOf } from "./command.js";

/** The page as a few lines for a terminal: the agent, its card, and how to call it. */
export function plainOf(card: AgentCard, cardUrl: string): string {
  const { name, version, description, supportedInterfaces } = card;
  const rows: (readonly [string, string])[] = [
    ["Agent card", cardUrl],
    ...supportedInterfaces.map((each): [string, string] => {
      const { url, tenant } = each;
      return [titleOf(each), tenant === "" ? url : `${url} (tenant ${tenant})`];
    }),
  ];
  const width = Math.max(...rows.map(([title]) => title.length));
  const first = supportedInterfaces.find(({ protocolBinding }) => protocolBinding === "HTTP+JSON");
  const command = first && shellCommand(first, shownCredentials(card), shownQuery(card));
  return [
    `${name} ${version}: ${description}`,
    "",
    ...rows.map(([title, value]) => `  ${title.padEnd(width)}  ${value}`),
    ...(command === undefined ? [] : ["", `  ${command}`]),
    "",
  ].join("\n");
}
