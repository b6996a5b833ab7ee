export default function Tab(_: { readonly agent: string; readonly card: object }) {
  return null;
}
