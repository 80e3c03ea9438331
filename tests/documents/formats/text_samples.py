"""Small documents of the formats that are text: mail, RTF, reStructuredText, AsciiDoc, XML."""

MAIL = b"""From: =?utf-8?q?Ada_Keeper?= <ada@light.example>
To: board@harbour.example
Subject: =?utf-8?b?VGhlIGxhbXAg4oCT?= again
Date: Mon, 6 May 2024 08:00:00 +0000
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=outer

--outer
Content-Type: multipart/alternative; boundary=inner

--inner
Content-Type: text/plain; charset=utf-8

The plain text.
--inner
Content-Type: text/html; charset=utf-8

<p>The lamp <b>smokes</b>.</p><ul><li>wick</li><li>oil</li></ul>
--inner--
--outer
Content-Type: text/markdown; name="list.md"
Content-Disposition: attachment; filename="list.md"
Content-Transfer-Encoding: base64

IyBTdG9yZXMKCk9pbCBpcyBsb3cuCg==
--outer
Content-Type: image/png
Content-Disposition: attachment; filename="lamp.png"
Content-Transfer-Encoding: base64

iVBORw0KGgo=
--outer
Content-Type: message/rfc822

From: board@harbour.example
Subject: Forwarded

Please mend it.
--outer--
"""

MAILBOX = b"""From ada@light.example Mon May  6 08:00:00 2024
From: ada@light.example
Subject: First

Text of the first.
>From here it goes on.

From board@harbour.example Tue May  7 08:00:00 2024
From: board@harbour.example
Subject: Second
Content-Type: text/plain; charset=iso-8859-1

Caf\xe9 at noon.
"""

RTF = rb"""{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fswiss Arial;}{\f1\fcharset204 Arial Cyr;}}
{\colortbl;\red0\green0\blue0;}{\stylesheet{\ql Normal;}{\s1\outlinelevel0 heading 1;}{\s9 Title;}}
{\info{\title Hidden title}}{\*\generator Somebody;}
\pard\s9 The Light\par
\pard\s1 Duties\par
\pard\plain Caf\'e9 \u8211? and {\f1 \'cb\'e0\'ec\'ef\'e0} {\v hidden}{\b bold}.{\footnote A note.}\par
\pard{\listtext 1.\tab}\ls1\ilvl0 First\par
{\listtext \bullet\tab}\ls2\ilvl1 Second\par
\trowd\cellx100\cellx200\pard\intbl Watch\cell Hours\cell\row
\trowd\cellx100\cellx200\pard\intbl Night\par shift\cell 8\cell\row
\pard\fi-360\li720 \bullet \tab third\par
\pard\outlinelevel1 After\par
\pard Emoji \u-10179?\u-8704? end {\pict\pngblip 89504e47}\{braces\}\par}
"""

RST = b"""=====
Light
=====

:author: Ada

Duties of *the* **keeper** with ``code`` and `a link <http://light.example>`_, see :ref:`tides <tide>` [1]_.

Lamp
----

- trim the wick
  each day
- fill the oil::

    pour()

  slowly

  #. first
  #. second

1. one
2. two

.. code-block:: python

   print("lamp")

   done()

.. note:: Mind the wind.

   It shifts.

.. toctree::

   other

.. figure:: lamp.png
   :alt: not shown

   The lamp.

.. a comment

Example::

    literal text

term
    its definition

+-------+-------+
| Watch | Hours |
+=======+=======+
| Night | 8     |
| shift |       |
+-------+-------+
| both          |
+---------------+

=====  =====
A      B
=====  =====
1      two
       lines
3      4
=====  =====

.. csv-table:: Oil
   :header: day, litres

   Monday, "1,5"

>>> 1 + 1
2

.. [1] A footnote.

Tides
-----

Text.
"""

ASCIIDOC = b"""= The Light
Ada Keeper <ada@light.example>
:town: Harbour

Preamble of *the* _keeper_ in {town} with `code` and https://light.example[a link].

// a comment
== Lamp

* trim
** twice
* fill
. first
. second

.Listing
[source,python]
----
print("lamp")

done()
----

term:: its definition

image::lamp.png[The lamp]

.Hours
[cols="1,1",options="header"]
|===
|Watch |Hours

|Night
|8
2+|both
|===

====
NOTE: Mind the wind.
====

////
not shown
////

=== Tides

See <<lamp,the lamp>>footnote:[Or not.].
"""

JATS = b"""<?xml version="1.0"?>
<!DOCTYPE article PUBLIC "-//NLM//DTD JATS (Z39.96) Journal Archiving DTD v1.2//EN" "JATS-archivearticle1.dtd">
<article article-type="research-article" xmlns:xlink="http://www.w3.org/1999/xlink">
<front><journal-meta><journal-title>Left out</journal-title></journal-meta>
<article-meta><article-id>42</article-id>
<title-group><article-title>On <italic>light</italic></article-title></title-group>
<contrib-group><contrib><name><surname>Keeper</surname><given-names>Ada</given-names></name></contrib></contrib-group>
<abstract><p>We looked.</p></abstract></article-meta></front>
<body><sec><title>Methods</title><p>A lamp&nbsp;&mdash;see <xref rid="f1">Fig. 1</xref>.</p>
<sec><title>Oil</title>
<list list-type="order"><list-item><p>pour</p></list-item><list-item><p>light</p></list-item></list>
<disp-formula><alternatives><tex-math>E = mc^2</tex-math><math><mi>E</mi></math></alternatives></disp-formula></sec>
<fig id="f1"><label>Figure 1</label><caption><p>The lamp.</p></caption><graphic xlink:href="a"/></fig>
<table-wrap><label>Table 1</label><caption><title>Hours</title></caption><table>
<thead><tr><th>Watch</th><th>h</th></tr></thead>
<tbody><tr><td rowspan="2">Night</td><td>8</td></tr><tr><td>9</td></tr></tbody></table></table-wrap></sec></body>
<back><ref-list><title>References</title>
<ref><mixed-citation>Keeper, <source>Light</source>, 1887.</mixed-citation></ref>
</ref-list></back></article>
"""

DOCBOOK = b"""<book xmlns="http://docbook.org/ns/docbook"><info><title>Light</title><author><personname>Ada</personname></author></info>
<chapter><title>Lamp</title>
<para>Use <code>light()</code><footnote><para>A note.</para></footnote> at dusk.</para>
<programlisting language="python">light()
  wait()</programlisting>
<itemizedlist><listitem><para>wick</para><orderedlist><listitem><para>trim</para></listitem></orderedlist></listitem>
<listitem><para>oil</para></listitem></itemizedlist>
<variablelist><varlistentry><term>glass</term><listitem><para>is clear</para></listitem></varlistentry></variablelist>
<table><title>Hours</title><tgroup cols="2"><colspec colname="a"/><colspec colname="b"/><thead><row><entry>Watch</entry>
<entry>h</entry></row></thead><tbody><row><entry namest="a" nameend="b">all</entry></row></tbody></tgroup></table>
<figure><title>The lamp</title><mediaobject/></figure></chapter></book>
"""
SUBTITLES = b"""WEBVTT - The Light

STYLE
::cue { color: white }

NOTE a comment --> that is none

1
00:00:01.000 --> 00:00:03.500 align:start
<v Ada>The lamp is lit

00:00:03.500 --> 00:00:05.000
<v Ada>at dusk. <i>Always.</i>

00:06.000 --> 00:07.000
<v Bo>And in fog &amp; snow?

00:07.000 --> 00:08.000
<v Bo>And in fog &amp; snow?
"""
