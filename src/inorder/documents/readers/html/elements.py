"""Names of the elements of HTML, SVG and MathML, in lower case."""

_NAMES = (
    "a abbr acronym address animate applet area article aside audio b base basefont bdi bdo bgsound big blink "
    "blockquote body br button canvas caption center circle cite clippath code col colgroup command content "
    "data datalist dd defs del desc details dfn dialog dir div dl dt element ellipse em embed fieldset "
    "figcaption figure filter font footer foreignobject form frame frameset g h1 h2 h3 h4 h5 h6 head header "
    "hgroup hr html i iframe image img input ins isindex kbd keygen label legend li line lineargradient link "
    "listing main map mark marker marquee mask math menu menuitem meta metadata meter mfrac mi mn mo mover "
    "mrow msqrt mspace mstyle msub msubsup msup mtable mtd mtext mtr munder multicol nav nobr noembed noframes "
    "noindex noscript object ol optgroup option output p param path pattern picture plaintext polygon polyline "
    "portal pre progress q radialgradient rb rect rp rt rtc ruby s samp script search section select shadow "
    "slot small source spacer span stop strike strong style sub summary sup svg symbol table tbody td template "
    "text textarea textpath tfoot th thead time title tr track tspan tt u ul use var video view wbr xmp"
)
ELEMENTS = frozenset(_NAMES.split())
