import "./style-first.js";
import { basicCatalog, createComponentImplementation, type ReactComponentImplementation } from "@a2ui/react/v0_9";
import { AudioPlayerApi, Catalog, ImageApi, TextApi, VideoApi } from "@a2ui/web_core/v0_9";
import { LinkedFile, RemoteImage } from "../../content/linked-file.js";
import { TextView } from "../../content/text-view.js";

export { A2uiSurface } from "@a2ui/react/v0_9";
export { MessageProcessor } from "@a2ui/web_core/v0_9";

const stringOrEmpty = (value: unknown): string => (typeof value === "string" ? value : "");

/** Media come from anywhere, so that they are loaded after a click, like all other files of agents. */
const own: readonly ReactComponentImplementation[] = [
  // Its own component needs a renderer of Markdown that makes HTML.
  createComponentImplementation(TextApi, ({ props }) => {
    const variant = stringOrEmpty((props as { readonly variant?: unknown }).variant);
    const text = stringOrEmpty(props.text);
    if (/^h[1-5]$/.test(variant)) return <h2>{text}</h2>;
    return variant === "caption" ? <small className="a2ui-caption">{text}</small> : <TextView text={text} />;
  }),
  createComponentImplementation(ImageApi, ({ props }) => (
    <RemoteImage
      url={stringOrEmpty(props.url)}
      alt={stringOrEmpty((props as { readonly description?: unknown }).description)}
    />
  )),
  createComponentImplementation(VideoApi, ({ props }) => (
    <LinkedFile url={stringOrEmpty(props.url)} filename="" mediaType="" />
  )),
  createComponentImplementation(AudioPlayerApi, ({ props }) => (
    <LinkedFile url={stringOrEmpty(props.url)} filename="" mediaType="" />
  )),
];

/**
 * The basic catalog of A2UI with our own media, and without the function that opens windows: an agent could have it
 * called by itself.
 */
export const catalog: Catalog<ReactComponentImplementation> = new Catalog(
  basicCatalog.id,
  [...basicCatalog.components.values()].map((each) => own.find(({ name }) => name === each.name) ?? each),
  [...basicCatalog.functions.values()].filter(({ name }) => name !== "openUrl"),
);
