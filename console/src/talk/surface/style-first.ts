/**
 * The renderer adds a `<style>` without a nonce when it is loaded, which the page's policy blocks, unless an element of
 * this id exists. Its tokens are a constructed style sheet, and the styles of its elements are set by script: both are
 * allowed. surface.css has what the element would bring.
 */
const id = "a2ui-date-time-input-webkit-styles";
if (document.getElementById(id) === null) {
  const mark = document.createElement("meta");
  mark.id = id;
  document.head.append(mark);
}
