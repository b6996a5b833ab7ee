import { type Agent, artifact, completed, inputRequired, type Turn, working } from "parley-a2a";
import { type ModelAddress, modelFor } from "../offline-model/model.js";
import { type Format, fileOf, idOf, mediaTypes } from "./files.js";
import { planFor } from "./model.js";
import type { Pictures } from "./pictures.js";
import { rules } from "./rules.js";
import { read, referenceFor, textsOf } from "./sources.js";

const card = {
  name: "Image Generator Agent",
  description: "Draws simple pictures from a description, and changes pictures that it made or got.",
  version: "1.0.0",
  defaultInputModes: ["text/plain", "image/png", "image/svg+xml"],
  defaultOutputModes: ["image/png", "image/svg+xml", "text/plain"],
  skills: [
    {
      id: "image_generator",
      name: "Image Generator",
      description: "Draws circles, squares, triangles, stars, hearts, suns, moons, houses, trees and sailboats.",
      tags: ["generate image", "edit image"],
      examples: ["Generate an image of a sailboat on the ocean.", "Modify the sailboat to be red.", "A star, as SVG."],
    },
  ],
};

/** Creates the agent. Without `pictures` every picture is sent inline. */
export async function imageAgent({
  model,
  pictures,
}: {
  model?: ModelAddress;
  pictures?: Pictures;
} = {}): Promise<Agent> {
  const address = model ?? (await modelFor(rules));
  return {
    card,
    recover: "restart",
    checkOutputModes: true,
    async *execute(turn) {
      yield working("Drawing…");
      const reference = await turn.step("picture", () => referenceFor(turn));
      if (reference !== null && "question" in reference) return yield inputRequired(reference.question);
      const found = await read(turn, reference, pictures);
      const said = await textsOf(turn);
      const plan = await turn.step("model", (signal) =>
        planFor(said, { model: address, source: found?.source, signal }),
      );
      if ("question" in plan) return yield inputRequired(plan.question);

      const { title, edits, format, delivery } = plan;
      const upon = edits && found !== undefined && "picture" in found.source ? found.source.picture : undefined;
      const kind = formatFor(turn, format);
      const bytes = fileOf(plan, kind, upon);
      const content = delivery === "link" && pictures ? { url: await pictures.save(bytes, kind) } : { bytes };
      // A changed picture has the name of the one before. Its id is another one, because it depends on the content.
      const name = (edits ? found?.name : undefined) ?? title;
      const id = idOf(bytes);
      yield artifact({
        id,
        name,
        description: title,
        parts: [{ file: { ...content, name: `${name}.${kind}`, mediaType: mediaTypes[kind] } }],
      });
      yield completed(`Here it is: ${title} (id ${id}).`);
    },
  };
}

/** The format that the user names, or else one that the client accepts; a PNG if it says nothing of images. */
function formatFor({ acceptedOutputModes: accepted }: Turn, named: Format | undefined): Format {
  if (named !== undefined && (accepted.length === 0 || accepted.some((mode) => mode === mediaTypes[named])))
    return named;
  const first = accepted.find((mode) => mode === mediaTypes.png || mode === mediaTypes.svg);
  return first === undefined ? (named ?? "png") : first === mediaTypes.svg ? "svg" : "png";
}
