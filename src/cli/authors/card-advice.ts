import type { AgentCard } from "../../../gen/lf/a2a/v1/a2a_pb.js";

/** Returns what a valid card could say better, a sentence each. Clients choose agents by these fields. */
export function cardAdvice({ description, skills }: AgentCard): readonly string[] {
  const silent = skills.filter(({ examples }) => examples.length === 0).map(({ id }) => id);
  const untagged = skills.filter(({ tags }) => tags.length === 0).map(({ id }) => id);
  return [
    ...(description.trim() === "" ? ["description is empty"] : []),
    ...(skills.length === 0 ? ["skills is empty: clients cannot tell what the agent does"] : []),
    ...(silent.length > 0 ? [`no examples in the skills ${silent.join(", ")}: people see them as first messages`] : []),
    ...(untagged.length > 0 ? [`no tags in the skills ${untagged.join(", ")}: registries search by them`] : []),
  ];
}
